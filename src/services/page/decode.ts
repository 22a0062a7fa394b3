/**
 * decode.ts -- decodes the bytes of a page: by its byte order mark, else the HTTP header, else the page's own
 * declaration.
 *
 * Without any of them, valid UTF-8 is UTF-8 and everything else is windows-1252, as in browsers. Never throws.
 */
import { isUtf8 } from "node:buffer";
import sniffEncoding from "html-encoding-sniffer";

/** Some pages declare their encoding late. */
const PRESCAN_BYTES = 4096;

export function decodePage(bytes: Uint8Array, kind: "html" | "xml" | "text", charset: string | undefined): string {
  const defaultEncoding = isUtf8(bytes) ? "UTF-8" : "windows-1252";
  const hints = { transportLayerEncodingLabel: charset, defaultEncoding };
  if (kind === "xml") return decodeAs(sniffEncoding(bytes, { ...hints, xml: true }), bytes);
  // Plain text cannot declare its encoding, so only the byte order mark counts.
  const maxPrescanBytes = kind === "html" ? PRESCAN_BYTES : 0;
  return decodeAs(sniffEncoding(bytes, { ...hints, maxPrescanBytes }), bytes);
}

function decodeAs(encoding: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    // TextDecoder rejects labels such as `x-user-defined`.
    return new TextDecoder().decode(bytes);
  }
}
