/** set-aside.ts -- the folders of one agent that a restoration took out of its workspace, and that can be put back. */

/** `discarded`: removed to save space. */
export type AsideFolder = { readonly state: "kept"; readonly folder: string } | { readonly state: "discarded" };

/** A restoration that was called and has not ended. */
export interface NotedRestoration {
  /** That of its changes. */
  readonly callId: string;
  /** Null when it takes back the newest restoration. */
  readonly step: number | null;
  /** As chosen by the call; empty means all files. */
  readonly paths: readonly string[];
}

/**
 * Whole folders are moved, never copied, and links are never followed. Paths are those of the workspace. Failures are
 * GoaldErrors, as those of the workspace. `key`: a name of letters and digits that the caller chooses for the folder.
 */
export interface SetAside {
  /** False when the two places are on different file systems. */
  canMove(): Promise<boolean>;
  /** The kind of entry at a path of the workspace. A link is `other`. */
  kindOf(path: string): Promise<"folder" | "other" | "none">;
  find(key: string): Promise<AsideFolder | undefined>;
  /** Moves a folder out of the workspace. GOALD_FILE when there is none. */
  take(path: string, key: string, at: Date): Promise<void>;
  /** Moves it back, and creates the folders above. GOALD_FILE when something is in its place. */
  putBack(key: string, path: string): Promise<void>;
  /** Removes folders of the workspace that are empty: this one and then those above it. */
  removeEmpty(path: string): Promise<void>;
  /** Notes a restoration before its first change, or that it has ended (null). Durable when resolved. */
  noteRestoration(restoration: NotedRestoration | null): Promise<void>;
  /** Null for none. */
  readRestoration(): Promise<NotedRestoration | null>;
  /**
   * Discards the folders that were taken longest ago until the others have at most `bytes`; those taken at `since` or later
   * are kept. Returns the keys of the discarded ones.
   */
  trim(bytes: number, since: Date): Promise<readonly string[]>;
}
