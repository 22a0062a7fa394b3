/** pool.ts -- work done a few pieces at a time, each with a promise of its own that a test can wait for. */
export function inPool<T, R>(size: number, items: readonly T[], work: (item: T) => Promise<R>): readonly Promise<R>[] {
  const pieces = items.map((item) => ({ item, ...Promise.withResolvers<R>() }));
  const waiting = [...pieces];
  const worker = async (): Promise<void> => {
    for (let piece = waiting.shift(); piece; piece = waiting.shift())
      await work(piece.item).then(piece.resolve, piece.reject);
  };
  for (let count = 0; count < size; count++) void worker();
  return pieces.map(({ promise }) => {
    // A test that waits later still hears of it.
    promise.catch(() => undefined);
    return promise;
  });
}
