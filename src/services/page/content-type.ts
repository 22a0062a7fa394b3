/**
 * content-type.ts -- determines the kind of a document from its content type, or from its first bytes.
 *
 * Rejects every type that holds no readable text, and names the type.
 */
import { GoaldError } from "#core/errors.ts";
import { isBinary } from "#util/media-format.ts";

export type PageKind = "html" | "xml" | "text" | "pdf";

export interface ContentType {
  /** Lower case, without parameters. `application/octet-stream` if the server sent none. */
  readonly name: string;
  readonly charset: string | undefined;
}

const UNKNOWN_TYPE = "application/octet-stream";
const GENERIC_TYPE = /^(?:application|binary)\/(?:octet-stream|x-download|force-download|unknown)$/;
const TEXT_TYPE =
  /^(?:text\/.+|application\/(?:.+\+)?(?:json|json5|ld\+json|x-ndjson|jsonl|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|typescript|x-sh|sql|graphql|x-tex|rtf))$/;
const XML_TYPE = /^(?:(?:text|application)\/xml|.+\/.+\+xml)$/;

export function readContentType(header: string | null | undefined): ContentType {
  const [name = "", ...parameters] = (header ?? "").slice(0, 500).split(";");
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([\w.:+-]+)"?\s*$/i.exec(each)?.[1]).find(Boolean);
  const plain = name.trim().toLowerCase();
  return { name: /^[\w.+-]+\/[\w.+-]+$/.test(plain) ? plain : UNKNOWN_TYPE, charset };
}

/** Throws GOALD_WEB for a type that goald does not read. */
export function pageKindOf(type: ContentType, bytes: Uint8Array): PageKind {
  const kind = kindByName(type.name) ?? (GENERIC_TYPE.test(type.name) ? kindByBytes(bytes) : undefined);
  if (kind === undefined || (kind === "text" && isBinary(bytes) && !isUtf16(bytes)))
    throw new GoaldError("GOALD_WEB", `Expected a page or a text; this is ${describeType(type.name, kind)}.`, {
      hint: "download_file saves any file into the workspace.",
      words: KNOWN_TYPE.test(type.name) ? "" : `content-type: ${type.name}`,
    });
  return kind;
}

/** Returns the declared type, or the type of the kind if the declared one is generic. */
export function typeNameOf({ name }: ContentType, kind: PageKind): string {
  return GENERIC_TYPE.test(name) ? TYPE_BY_KIND[kind] : name;
}
const TYPE_BY_KIND = { html: "text/html", xml: "application/xml", pdf: "application/pdf", text: "text/plain" } as const;

/** Types that goald names itself. Any other text in a header is a word of the server. */
const KNOWN_TYPE =
  /^(?:image\/(?:png|jpeg|gif|webp|svg\+xml)|video\/mp4|audio\/mpeg|text\/(?:plain|html)|application\/(?:zip|octet-stream|json|xml|pdf))$/;

function describeType(name: string, kind: PageKind | undefined): string {
  const known = KNOWN_TYPE.test(name) ? name : undefined;
  if (!GENERIC_TYPE.test(name) && kind === undefined) return known ?? "something else";
  return known ? `binary data of the type ${known}` : "binary data";
}

function kindByName(name: string): PageKind | undefined {
  if (name === "text/html" || name === "application/xhtml+xml") return "html";
  if (name === "application/pdf" || name === "application/x-pdf") return "pdf";
  if (name === "image/svg+xml") return undefined;
  if (XML_TYPE.test(name)) return "xml";
  return TEXT_TYPE.test(name) ? "text" : undefined;
}

function kindByBytes(bytes: Uint8Array): PageKind {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 512)).replace(/^(?:\u00ef\u00bb\u00bf)?\s*/, "");
  if (head.startsWith("%PDF-")) return "pdf";
  if (/^(?:<!doctype html|<html|<head|<body|<!--)/i.test(head)) return "html";
  return head.startsWith("<?xml") ? "xml" : "text";
}

/** Such text holds NUL bytes too, but begins with a byte order mark. */
const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
