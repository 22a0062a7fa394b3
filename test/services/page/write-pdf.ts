/** write-pdf.ts -- a PDF of plain text for tests: one line for each page, nothing where it is empty. */

export function writePdf(pages: readonly string[], trailer = ""): Uint8Array {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((line, index) => {
      const content = line === "" ? "" : `BT /F1 12 Tf 72 720 Td (${line}) Tj ET`;
      const resources = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>";
      return [
        `<< /Type /Page /Parent 2 0 R ${resources} /Contents ${5 + 2 * index} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return String(offset).padStart(10, "0");
  });
  const rows = offsets.map((offset) => `${offset} 00000 n \n`).join("");
  const size = objects.length + 1;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(`${text}xref\n0 ${size}\n0000000000 65535 f \n${rows}${end}`, "latin1");
}
