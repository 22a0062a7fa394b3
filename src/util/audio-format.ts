/** audio-format.ts -- what a recording is, told from its first bytes, by the ending that speech services know it by. */

export type AudioFormat = "mp3" | "m4a" | "wav" | "webm" | "ogg" | "flac";

export function readAudioFormat(bytes: Uint8Array): AudioFormat | undefined {
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  if (text(0, 4) === "RIFF" && text(8, 4) === "WAVE") return "wav";
  if (text(4, 4) === "ftyp") return "m4a";
  if (text(0, 4) === "OggS") return "ogg";
  if (text(0, 4) === "fLaC") return "flac";
  if (text(0, 4) === "\u001aE\u00df\u00a3") return "webm";
  if (text(0, 3) === "ID3") return "mp3";
  return isMp3Frame(bytes) ? "mp3" : undefined;
}

const LAYER_3 = 1;
/** Eleven set bits; then a version, a bit rate and a sampling rate that there are. Other layers are rare, and UTF-16 looks like one. */
function isMp3Frame([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  const [version, layer] = [(second >> 3) & 3, (second >> 1) & 3];
  const [bitRate, samplingRate] = [third >> 4, (third >> 2) & 3];
  const isSync = first === 0xff && second >> 5 === 7;
  return isSync && version !== 1 && layer === LAYER_3 && bitRate !== 0 && bitRate !== 15 && samplingRate !== 3;
}
