/**
 * show-live.ts -- thoughts on a terminal while the reply arrives, word by word.
 *
 * A word is shown when it is whole, so that neither an escape sequence nor a secret can come in pieces: each time, all that is
 * known of a thought is cleaned and redacted anew, and only what that adds to the shown text is written. When it adds to
 * another text than the one that stands there, no more of the thought is shown; the whole follows with its event.
 */
import type { LiveThoughts, ThoughtName } from "#reply/thoughts.ts";
import { clean, cutToWholeWords } from "#util/outside-text.ts";

export interface ShowLiveParts {
  write(text: string): void;
  redact(text: string): string;
  /** Printed before a thought, painted, without the blank behind it. */
  label(name: ThoughtName): string;
  createScanner(onText: (name: ThoughtName, piece: string, isWhole: boolean) => void): LiveThoughts;
}

export interface ShowLive {
  /** A piece of the reply. */
  push(piece: string): void;
  /**
   * Completes the thought whose beginning is shown, ends its line and forgets the reply. `textOf` returns a thought of the
   * finished reply. Returns the thoughts that are shown whole, as they were shown.
   */
  end(textOf?: (name: ThoughtName) => string | undefined): ReadonlyMap<ThoughtName, string>;
}

/** Of one thought. A longer one is shown whole when the reply is there. */
const MAX_LIVE_CHARS = 4_000;

interface Shown {
  readonly name: ThoughtName;
  known: string;
  written: string;
  isCertain: boolean;
}

export function createShowLive({ write, redact, label, createScanner }: ShowLiveParts): ShowLive {
  let whole = new Map<ThoughtName, string>();
  let open: Shown | undefined;
  let scanner = createScanner(take);

  function take(name: ThoughtName, piece: string, isWhole: boolean): void {
    if (open?.name !== name) {
      endLine();
      open = { name, known: "", written: "", isCertain: true };
    }
    if (!open.isCertain) return;
    open.known += piece;
    if (open.known.length > MAX_LIVE_CHARS) open.isCertain = false;
    else if (isWhole || /\s/.test(piece)) showMore(open, isWhole);
    if (isWhole) endLine();
  }

  function showMore(shown: Shown, isWhole: boolean): void {
    const { name, known } = shown;
    const certain = isWhole ? known : cutToWholeWords(known);
    const text = redact(clean(certain).trim()).replaceAll("\n", "\n  ");
    if (!text.startsWith(shown.written)) {
      shown.isCertain = false;
      return;
    }
    const added = text.slice(shown.written.length);
    if (added !== "") write(shown.written === "" ? `${label(name)} ${added}` : added);
    shown.written = text;
    if (isWhole) whole.set(name, text);
  }

  function endLine(): void {
    if (open && open.written !== "") write("\n");
    open = undefined;
  }

  return {
    push: (piece) => scanner.push(piece),
    end: (textOf) => {
      const known = open && textOf?.(open.name);
      if (open?.isCertain && known !== undefined) showMore(Object.assign(open, { known }), true);
      endLine();
      const shown = whole;
      whole = new Map();
      scanner = createScanner(take);
      return shown;
    },
  };
}
