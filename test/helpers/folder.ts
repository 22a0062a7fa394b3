/** folder.ts -- what a test makes on the disk or opens, and what goes after it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "@jest/globals";
import { type GoaldError, isGoaldError } from "#core/errors.ts";

/** Makes a folder that all tests share. It goes after the last one. */
export function useSharedFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "goald-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Gives each test an empty folder, and returns the function that joins names to its path. All go after the last test. */
export function useFolder(): (...names: string[]) => string {
  const all = useSharedFolder();
  let tests = 0;
  beforeEach(() => mkdirSync(join(all, String(++tests))));
  return (...names) => join(all, String(tests), ...names);
}

/** Makes what all tests of a suite share, before the first one, and closes it after the last one. Its members are there in between. */
export function useShared<T extends object>(make: () => Promise<T>): T {
  const shared = {} as T & Partial<AsyncDisposable>;
  beforeAll(async () => {
    Object.defineProperties(shared, Object.getOwnPropertyDescriptors(await make()));
  });
  afterAll(async () => shared[Symbol.asyncDispose]?.());
  return shared;
}

/** Returns a function that keeps what a test opened until its end, and then closes it, the newest first. */
export function useOpened(): <T extends { close(): unknown }>(opened: T) => T {
  const all: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const opened of all.splice(0).reverse()) await opened.close();
  });
  return (opened) => {
    all.push(opened);
    return opened;
  };
}

/** Returns the error of goald that a call throws or rejects with. Throws when the call succeeds or fails otherwise. */
export async function refusalOf(call: Promise<unknown> | (() => unknown)): Promise<GoaldError> {
  try {
    await (typeof call === "function" ? call() : call);
  } catch (error) {
    if (isGoaldError(error)) return error;
    throw error;
  }
  throw new Error("Expected an error of goald, got none.");
}

/** Returns what a promise rejects with, or `no error`. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => error,
  );
