/**
 * decode.ts -- the bytes of a page as text: a byte order mark goes first, then what the header says, then what the page says.
 *
 * Where nobody says anything, it is UTF-8 when the bytes are, and windows-1252 otherwise, as browsers do. Never throws.
 */
import { isUtf8 } from "node:buffer";
import sniffEncoding from "html-encoding-sniffer";

/** Some pages name their encoding late. */
const PRESCAN_BYTES = 4096;

export function decode(bytes: Uint8Array, kind: "html" | "xml" | "text", charset: string | undefined): string {
  const defaultEncoding = isUtf8(bytes) ? "UTF-8" : "windows-1252";
  const told = { transportLayerEncodingLabel: charset, defaultEncoding };
  if (kind === "xml") return decodeAs(sniffEncoding(bytes, { ...told, xml: true }), bytes);
  // A text cannot name its encoding: nothing in it is looked at but the byte order mark.
  const maxPrescanBytes = kind === "html" ? PRESCAN_BYTES : 0;
  return decodeAs(sniffEncoding(bytes, { ...told, maxPrescanBytes }), bytes);
}

function decodeAs(encoding: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    // Such as `x-user-defined`, which no page means.
    return new TextDecoder().decode(bytes);
  }
}
