import { describe, expect, it } from "@jest/globals";
import { readAudioFormat, readImageFacts } from "#util/media-format.ts";
import { jpeg, png, wav, webp } from "../helpers/media-server.ts";

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

describe("readImageFacts", () => {
  it.each([
    ["PNG", png(300, 200), { format: "png", width: 300, height: 200 }],
    ["JPEG", jpeg(640, 480), { format: "jpeg", width: 640, height: 480 }],
    ["WebP, lossy", webp("VP8 ", 512, 256), { format: "webp", width: 512, height: 256 }],
    ["WebP, lossless", webp("VP8L", 16_383, 7), { format: "webp", width: 16_383, height: 7 }],
    ["GIF", bytesOf("GIF89a\x80\x02\xe0\x01 and more"), { format: "gif", width: 640, height: 480 }],
    ["WebP, extended", webp("VP8X", 70_000, 3), { format: "webp", width: 70_000, height: 3 }],
  ])("reads the format and size of a %s", (_name, bytes, facts) => {
    expect(readImageFacts(bytes)).toEqual(facts);
    // Also inside a larger buffer.
    const around = Buffer.concat([Buffer.from("before"), bytes, Buffer.from("after")]);
    expect(readImageFacts(new Uint8Array(around.buffer, around.byteOffset + 6, bytes.length))).toEqual(facts);
  });

  it.each([
    ["nothing", bytesOf("")],
    ["a web page", bytesOf("<html><body>not a picture, but long enough for one</body></html>")],
    ["SVG", bytesOf('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"></svg>')],
    ["GIF of an unknown version", bytesOf("GIF90b\x01\x00\x01\x00 and more of it, so that nothing is missing")],
    ["a PNG of width 0", png(0, 10)],
    ["JPEG segments without end", bytesOf(`\xff\xd8${"\xff\xe0\x00\x00".repeat(10)}`)],
    ["JPEG of padding only", bytesOf(`\xff\xd8${"\xff".repeat(1_000)}`)],
    ["sound in a RIFF file", wav()],
  ])("returns undefined for %s", (_name, bytes) => expect(readImageFacts(bytes)).toBeUndefined());

  it("returns undefined for an image that ends too early", () => {
    for (const bytes of [png(10, 10), jpeg(10, 10), webp("VP8X", 10, 10)])
      for (let length = 0; length < 24; length++)
        expect(readImageFacts(bytes.subarray(0, length))?.format).toBe(undefined);
  });
});

describe("readAudioFormat", () => {
  it.each([
    ["wav", wav()],
    ["mp3", bytesOf("ID3\x04\x00")],
    ["mp3", Uint8Array.of(0xff, 0xfb, 0x90, 0x64)],
    ["m4a", bytesOf("\x00\x00\x00\x20ftypM4A ")],
    ["ogg", bytesOf("OggS\x00")],
    ["flac", bytesOf("fLaC\x00")],
    ["webm", bytesOf("\x1aE\xdf\xa3")],
  ])("recognizes %s", (format, bytes) => expect(readAudioFormat(bytes)).toBe(format));

  it.each([
    ["nothing", bytesOf("")],
    ["text", bytesOf("Hello, this is a text")],
    ["a PNG", png(2, 2)],
    ["a JPEG", jpeg(2, 2)],
    ["WebP, which is RIFF like wav", webp("VP8X", 2, 2)],
    ["text in UTF-16", Uint8Array.of(0xff, 0xfe, 0x41, 0x00)],
    ["bytes that are all set", new Uint8Array(16).fill(0xff)],
  ])("returns undefined for %s", (_name, bytes) => expect(readAudioFormat(bytes)).toBeUndefined());
});
