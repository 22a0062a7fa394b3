/** read-pages.ts -- reads rows page by page, in the order of their last change. */

/** `read` returns at most `limit` rows with a `change` above `after`; fewer mean the end. */
export async function* readPages<Row extends { readonly change: number }>(
  read: (after: number, limit: number) => Promise<readonly Row[]>,
  { limit, after = 0 }: { readonly limit: number; readonly after?: number },
): AsyncGenerator<readonly Row[]> {
  for (let last = after; ; ) {
    const page = await read(last, limit);
    yield page;
    if (page.length < limit) return;
    last = page.at(-1)?.change ?? last;
  }
}
