import { describe, expect, it } from "@jest/globals";
import { GoaldError } from "#core/errors.ts";
import { toFileError, withFileErrors } from "#workspace/file-errors.ts";

const systemError = (code: string): Error =>
  Object.assign(new Error(`${code}: open '/home/somebody/x'`), { code, path: "/home/somebody/x" });

describe("toFileError", () => {
  it.each([
    ["ENOENT", "GOALD_FILE_MISSING"],
    ["ENOSPC", "GOALD_STORE_FULL"],
    ["EDQUOT", "GOALD_STORE_FULL"],
    ["EFBIG", "GOALD_STORE_FULL"],
    ["ENAMETOOLONG", "GOALD_PATH_REFUSED"],
    ["ELOOP", "GOALD_PATH_REFUSED"],
    ["ENOTDIR", "GOALD_FILE"],
    ["EISDIR", "GOALD_FILE"],
    ["EACCES", "GOALD_FILE"],
    ["EROFS", "GOALD_FILE"],
    ["EIO", "GOALD_FILE"],
  ])("turns %s into %s, naming the requested path and no other", (code, expected) => {
    const error = toFileError(systemError(code), "notes/a.txt");
    expect(error).toMatchObject({ code: expected, hint: expect.stringMatching(/\S/) });
    expect(error.message).toContain('"notes/a.txt"');
    expect(error.message + error.hint).not.toContain("/home/somebody");
  });

  it("keeps a GoaldError", async () => {
    const ours = new GoaldError("GOALD_FILE_TOO_LARGE", "Too large.");
    await expect(withFileErrors("a.txt", () => Promise.reject(ours))).rejects.toBe(ours);
  });

  it("writes out invisible characters and cuts long paths", () => {
    const { message } = toFileError(systemError("EIO"), `a\u001b[2J\u202e${"b".repeat(5000)}`);
    expect(message).toContain("a\\u{1b}[2J\\u{202e}b");
    expect(message.length).toBeLessThan(300);
  });
});
