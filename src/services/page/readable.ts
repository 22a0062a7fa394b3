/** readable.ts -- what comes of a page, whatever it was. */
import type { Link } from "./links.ts";

export interface Readable {
  /** Empty for none. */
  readonly title: string;
  readonly text: string;
  readonly links: readonly Link[];
  /** Said where something is missing. */
  readonly remarks: readonly string[];
}
