/** Files that the history cannot keep, and folders: a person is asked before they are lost. */
import { describe, expect, it } from "@jest/globals";
import type { ApprovalMode } from "#core/agent-settings.ts";
import type { Services } from "#core/services.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";

const BIG = new Uint8Array(64 * 1024 * 1024 + 1);
const serving: Partial<Services> = {
  downloads: { get: async (url) => ({ url, contentType: "", bytes: new TextEncoder().encode("new") }) as never },
};

async function runCall(name: string, args: Readonly<Record<string, unknown>>, approve: ApprovalMode, says = true) {
  const script = [reply(name, args), done()];
  const loop = await makeLoop({ script, settings: { approve }, serving, services: { downloads: { ready: true } } });
  loop.files.set("big.bin", BIG);
  loop.files.set("clone/.git/config", new Uint8Array(1));
  loop.files.set("clone/a", new Uint8Array(1));
  const asked: string[] = [];
  await loop.run({
    ask: async (call) => {
      asked.push(`${call.name}${call.args.permanently ? " permanently" : ""}`);
      return says ? { kind: "approved", count: 1 } : { kind: "feedback", text: "no" };
    },
  });
  const result = (await loop.events()).findLast((event) => event.type === "command-finished" && event.callId === "c1");
  const status = result?.type === "command-finished" ? result.observation.status : undefined;
  return { asked, status, has: (path: string) => loop.files.has(path), text: (path: string) => loop.text(path) };
}

describe("a file over 64 MB", () => {
  it.each([
    ["risky", ["delete_file permanently"]],
    ["never", []],
  ] as const)("is deleted by delete_file in %s, after the questions %j", async (approve, questions) => {
    const run = await runCall("delete_file", { file: "big.bin" }, approve);
    expect([run.asked, run.status, run.has("big.bin")]).toEqual([questions, "ok", false]);
  });

  it("stays when a person says no", async () => {
    const run = await runCall("delete_file", { file: "big.bin" }, "risky", false);
    expect([run.asked.length, run.status, run.has("big.bin")]).toEqual([1, "denied", true]);
    const over = await runCall("write_to_file", { file: "big.bin", text: "x" }, "risky", false);
    expect([over.asked.length, over.status, over.has("big.bin")]).toEqual([1, "denied", true]);
  });

  it.each([
    ["write_to_file", { file: "big.bin", text: "new" }, ["delete_file permanently"]],
    ["download_file", { file: "big.bin", url: "https://example.com/" }, ["download_file", "delete_file permanently"]],
  ] as const)("is overwritten by %s %j after the questions %j", async (name, args, questions) => {
    const run = await runCall(name, args, "risky");
    expect([run.asked, run.status, run.text("big.bin")]).toEqual([questions, "ok", "new"]);
  });
});

describe("a folder", () => {
  it("is deleted permanently after a question, with what version control keeps in it", async () => {
    const run = await runCall("delete_file", { file: "clone", permanently: true }, "risky");
    expect([run.asked, run.status]).toEqual([["delete_file permanently"], "ok"]);
    expect([run.has("clone/a"), run.has("clone/.git/config"), run.has("big.bin")]).toEqual([false, false, true]);
  });

  it("is not deleted without that word", async () => {
    const run = await runCall("delete_file", { file: "clone" }, "risky");
    expect([run.asked, run.status, run.has("clone/a")]).toEqual([[], "failed", true]);
  });
});
