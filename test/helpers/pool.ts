/** pool.ts -- runs work on items, a few at a time, with one promise for each item. */
export function inPool<T, R>(size: number, items: readonly T[], work: (item: T) => Promise<R>): readonly Promise<R>[] {
  const pieces = items.map((item) => ({ item, ...Promise.withResolvers<R>() }));
  const waiting = [...pieces];
  const worker = async (): Promise<void> => {
    for (let piece = waiting.shift(); piece; piece = waiting.shift())
      await work(piece.item).then(piece.resolve, piece.reject);
  };
  for (let count = 0; count < size; count++) void worker();
  return pieces.map(({ promise }) => {
    // A test that waits later still gets the rejection.
    promise.catch(() => undefined);
    return promise;
  });
}
