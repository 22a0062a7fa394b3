import { once } from "node:events";
import { createDeflate, deflateSync } from "node:zlib";

/** pdf-bombs.ts -- PDFs of plain text, and PDFs whose streams inflate to many times their size, built in little memory. */

interface StreamOfPage {
  readonly bytes: Buffer;
  readonly filter?: string;
}

/** The content of each page is its streams. */
function writeStreams(pages: readonly (readonly StreamOfPage[])[], trailer = ""): Uint8Array {
  const objects = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.alloc(0),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
  ];
  const add = (...parts: readonly (string | Buffer)[]): string =>
    `${objects.push(Buffer.concat(parts.map((part) => Buffer.from(part))))} 0 R`;
  const kids = pages.map((streams) => {
    const refs = streams.map(({ bytes, filter }) => {
      const filtered = filter === undefined ? "" : ` /Filter ${filter}`;
      return add(`<< /Length ${bytes.length}${filtered} >>\nstream\n`, bytes, "\nendstream");
    });
    const resources = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>";
    return add(`<< /Type /Page /Parent 2 0 R ${resources} /Contents [${refs.join(" ")}] >>`);
  });
  objects[1] = Buffer.from(`<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages.length} >>`);
  const parts = [Buffer.from("%PDF-1.4\n")];
  let [length, rows] = [9, ""];
  for (const [index, object] of objects.entries()) {
    const whole = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]);
    rows += `${String(length).padStart(10, "0")} 00000 n \n`;
    length += whole.length;
    parts.push(whole);
  }
  const size = objects.length + 1;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${rows}${end}`)]);
}

const show = (line: string): string => `BT /F1 12 Tf 72 720 Td (${line}) Tj ET\n`;

/** One line for each page, nothing where it is empty. */
export const plainPdf = (lines: readonly string[], trailer = ""): Uint8Array =>
  writeStreams(
    lines.map((line) => [{ bytes: Buffer.from(line === "" ? "" : show(line)) }]),
    trailer,
  );

const MEGABYTE = 1024 * 1024;

/** Deflates a short text and then so many megabytes of blanks. */
async function deflateBlanks(megabytes: number): Promise<Buffer> {
  const deflate = createDeflate({ level: 9 });
  const pieces: Buffer[] = [];
  deflate.on("data", (piece: Buffer) => pieces.push(piece));
  deflate.write(show("The first words."));
  const blanks = Buffer.alloc(MEGABYTE, " ");
  for (let count = 0; count < megabytes; count++) if (!deflate.write(blanks)) await once(deflate, "drain");
  deflate.end();
  await once(deflate, "end");
  return Buffer.concat(pieces);
}

/** Inflates to so many megabytes in one stream: 1 KB a megabyte. */
export const inflatingPdf = async (megabytes: number): Promise<Uint8Array> => manyStreamsPdf(1, megabytes);

/** The same, deflated twice: a few kilobytes. */
export const twiceDeflatedPdf = async (megabytes: number): Promise<Uint8Array> => {
  const bytes = deflateSync(await deflateBlanks(megabytes), { level: 9 });
  return writeStreams([[{ bytes, filter: "[/FlateDecode /FlateDecode]" }]]);
};

/** The same bytes in several streams of one page. */
export const manyStreamsPdf = async (streams: number, megabytes: number): Promise<Uint8Array> => {
  const bytes = await deflateBlanks(megabytes / streams);
  return writeStreams([Array.from({ length: streams }, () => ({ bytes, filter: "/FlateDecode" }))]);
};
