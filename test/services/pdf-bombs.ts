import { once } from "node:events";
import { createDeflate, deflateSync } from "node:zlib";

/** pdf-bombs.ts -- PDFs whose streams inflate to many times their size. Built in pieces, in little memory. */

const MEGABYTE = 1024 * 1024;
const TEXT = "BT /F1 12 Tf 72 720 Td (The first words.) Tj ET\n";

/** Deflates a short text and then so many megabytes of blanks. */
async function deflateBlanks(megabytes: number, fill = " "): Promise<Buffer> {
  const deflate = createDeflate({ level: 9 });
  const pieces: Buffer[] = [];
  deflate.on("data", (piece: Buffer) => pieces.push(piece));
  deflate.write(TEXT);
  const blanks = Buffer.alloc(MEGABYTE, fill);
  for (let count = 0; count < megabytes; count++) if (!deflate.write(blanks)) await once(deflate, "drain");
  deflate.end();
  await once(deflate, "end");
  return Buffer.concat(pieces);
}

interface StreamOfPage {
  readonly bytes: Buffer;
  readonly filter: string;
}

/** A PDF of one page whose content is these streams. */
function writeStreams(streams: readonly StreamOfPage[]): Uint8Array {
  const refs = streams.map((_, index) => `${5 + index} 0 R`).join(" ");
  const objects: readonly (readonly Buffer[])[] = [
    [Buffer.from("<< /Type /Catalog /Pages 2 0 R >>")],
    [Buffer.from("<< /Type /Pages /Kids [4 0 R] /Count 1 >>")],
    [Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")],
    [
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents [${refs}] >>`,
      ),
    ],
    ...streams.map(({ bytes, filter }) => [
      Buffer.from(`<< /Length ${bytes.length} /Filter ${filter} >>\nstream\n`),
      bytes,
      Buffer.from("\nendstream"),
    ]),
  ];
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  let length = parts[0]?.length ?? 0;
  const offsets: number[] = [];
  const add = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
  };
  for (const [index, object] of objects.entries()) {
    offsets.push(length);
    for (const part of [Buffer.from(`${index + 1} 0 obj\n`), ...object, Buffer.from("\nendobj\n")]) add(part);
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const start = length;
  add(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${rows}`));
  add(Buffer.from(`trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts);
}

/** Inflates to so many megabytes in one stream: 1 KB a megabyte. */
export const inflatingPdf = async (megabytes: number): Promise<Uint8Array> =>
  writeStreams([{ bytes: await deflateBlanks(megabytes), filter: "/FlateDecode" }]);

/** The same, deflated twice: a few kilobytes. */
export const twiceDeflatedPdf = async (megabytes: number): Promise<Uint8Array> =>
  writeStreams([
    { bytes: deflateSync(await deflateBlanks(megabytes), { level: 9 }), filter: "[/FlateDecode /FlateDecode]" },
  ]);

/** The same bytes in several streams of one page. */
export const manyStreamsPdf = async (streams: number, megabytes: number): Promise<Uint8Array> => {
  const bytes = await deflateBlanks(megabytes / streams);
  return writeStreams(Array.from({ length: streams }, () => ({ bytes, filter: "/FlateDecode" })));
};
