/** read-pages.ts -- reads rows page by page, in the order of a number that each row has. */

export const byChange = ({ change }: { readonly change: number }): number => change;
export const bySeq = ({ seq }: { readonly seq: number }): number => seq;

/** `read` returns at most `limit` rows whose number is above `after`, in ascending order; fewer mean the end. */
export async function* readPages<Row>(
  read: (after: number, limit: number) => Promise<readonly Row[]>,
  numberOf: (row: Row) => number,
  { limit, after = 0 }: { readonly limit: number; readonly after?: number },
): AsyncGenerator<readonly Row[]> {
  for (let last = after; ; ) {
    const page = await read(last, limit);
    yield page;
    const end = page.at(-1);
    if (page.length < limit || end === undefined) return;
    last = numberOf(end);
  }
}
