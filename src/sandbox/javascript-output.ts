/** javascript-output.ts -- collects what a cell prints: the beginning and the end of a long output. */

export class CellOutput {
  readonly #limit: number;
  #head = "";
  #tail = "";
  #chars = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  write(text: string): void {
    const half = this.#limit / 2;
    this.#chars += text.length;
    const room = half - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    const tail = this.#tail + text.slice(Math.max(0, room));
    this.#tail = tail.length > 2 * half ? tail.slice(-half) : tail;
  }

  read(): { readonly output: string; readonly isCut: boolean } {
    if (this.#chars <= this.#limit) return { output: this.#head + this.#tail, isCut: false };
    const tail = this.#tail.slice(-this.#limit / 2 + 100);
    const left = this.#chars - this.#head.length - tail.length;
    return { output: `${this.#head}\n[… ${left} characters left out …]\n${tail}`.toWellFormed(), isCut: true };
  }
}
