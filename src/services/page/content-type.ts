/**
 * content-type.ts -- what a page is, told by its content type, and by its first bytes where there is none.
 *
 * What is no text for people is refused here, with its type.
 */
import { GoaldError } from "#core/errors.ts";

export type PageKind = "html" | "xml" | "text" | "pdf";

export interface ContentType {
  /** Without parameters, small letters; `application/octet-stream` when nobody said. */
  readonly name: string;
  readonly charset: string | undefined;
}

const UNKNOWN = "application/octet-stream";
const SAYS_NOTHING = /^(?:application|binary)\/(?:octet-stream|x-download|force-download|unknown)$/;
const IS_TEXT =
  /^(?:text\/.+|application\/(?:.+\+)?(?:json|json5|ld\+json|x-ndjson|jsonl|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|typescript|x-sh|sql|graphql|x-tex|rtf))$/;
const IS_XML = /^(?:(?:text|application)\/xml|.+\/.+\+xml)$/;

export function readContentType(header: string | null | undefined): ContentType {
  const [name = "", ...parameters] = (header ?? "").slice(0, 500).split(";");
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([\w.:+-]+)"?\s*$/i.exec(each)?.[1]).find(Boolean);
  const plain = name.trim().toLowerCase();
  return { name: /^[\w.+-]+\/[\w.+-]+$/.test(plain) ? plain : UNKNOWN, charset };
}

/** Throws GOALD_WEB for what is not read here. */
export function kindOf(type: ContentType, bytes: Uint8Array): PageKind {
  const kind = kindByName(type.name) ?? (SAYS_NOTHING.test(type.name) ? kindByBytes(bytes) : undefined);
  if (kind === undefined || (kind === "text" && isBinary(bytes)))
    throw new GoaldError("GOALD_WEB", `Expected a page or a text; this is ${describe(type.name, kind)}.`, {
      hint: "download_file saves any file into the workspace.",
    });
  return kind;
}

/** The type's name, or what the bytes show where it says nothing. */
export function typeNameOf({ name }: ContentType, kind: PageKind): string {
  return SAYS_NOTHING.test(name) ? NAMES[kind] : name;
}
const NAMES = { html: "text/html", xml: "application/xml", pdf: "application/pdf", text: "text/plain" } as const;

const describe = (name: string, kind: PageKind | undefined): string =>
  SAYS_NOTHING.test(name) || kind !== undefined ? `binary data of the type ${name}` : name;

function kindByName(name: string): PageKind | undefined {
  if (name === "text/html" || name === "application/xhtml+xml") return "html";
  if (name === "application/pdf" || name === "application/x-pdf") return "pdf";
  if (name === "image/svg+xml") return undefined;
  if (IS_XML.test(name)) return "xml";
  return IS_TEXT.test(name) ? "text" : undefined;
}

function kindByBytes(bytes: Uint8Array): PageKind {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 512)).replace(/^(?:\u00ef\u00bb\u00bf)?\s*/, "");
  if (head.startsWith("%PDF-")) return "pdf";
  if (/^(?:<!doctype html|<html|<head|<body|<!--)/i.test(head)) return "html";
  return head.startsWith("<?xml") ? "xml" : "text";
}

/** git's sign of a binary file; UTF-16, which has it too, says so by its first two bytes. */
function isBinary(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return !isUtf16 && bytes.subarray(0, 8000).includes(0);
}
