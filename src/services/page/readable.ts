/** readable.ts -- the result of reading a page of any kind. */
import type { Link } from "./links.ts";

export interface Readable {
  /** Empty if the page has none. */
  readonly title: string;
  readonly text: string;
  readonly links: readonly Link[];
  /** Sentences about what is missing. */
  readonly remarks: readonly string[];
}
