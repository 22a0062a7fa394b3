/** Whose a content is, is noted once, and only where nothing else says it. */
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type Blobs, openBlobs } from "#store/blobs.ts";
import { sha256 } from "#store/chain.ts";
import { createTables } from "#store/schema.ts";

const FOO = 1;
const BAR = 2;

describe("contents kept by their hash", () => {
  let database: DatabaseSync;
  let noted: [agentNo: number, sha: string][];
  let blobs: Blobs;
  beforeEach(() => {
    database = new DatabaseSync(":memory:");
    createTables(database);
    noted = [];
    blobs = openBlobs(database, { note: (agentNo, shas) => noted.push(...shas.map((sha) => [agentNo, sha] as never)) });
  });
  afterEach(() => database.close());

  it.each([
    ["small", 9],
    ["large", 9_000],
  ])(
    "notes a %s text once for each agent that keeps it, and a file's content only for who does not own it",
    (_size, length) => {
      const bytes = new Uint8Array(length);
      const sha = sha256(bytes);
      blobs.keepText(FOO, bytes);
      expect(noted).toEqual([[FOO, sha]]);
      blobs.keepText(BAR, bytes);
      expect(noted.slice(1)).toEqual([[BAR, sha]]);
      blobs.keepContent(FOO, sha, bytes);
      expect(noted.slice(2)).toEqual([]);
      blobs.keepContent(BAR, sha, bytes);
      expect(noted.slice(2)).toEqual([[BAR, sha]]);
    },
  );
});
