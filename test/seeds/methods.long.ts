/** Methods of a home in the real sandbox: Python helpers and unlisted commands, found by search or called by name. */
import { describe, expect, it } from "@jest/globals";
import type { Line, Seen } from "../helpers/conditional-model.ts";
import { reply } from "../helpers/loop.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";

const HELPERS = `"""Helpers for words."""
import re

SEPARATOR = ", "

def save_with_commas(text: str, file: str) -> int:
    """Puts commas between the words of a text and saves it."""
    words = re.split(r"\\s+", text)
    write_to_file(file, SEPARATOR.join(words))
    return len(words)
`;
const OPEN = `export default { name: "open", summary: "opens a door of the house.", listed: false,
  args: { type: "object", properties: { from: { type: "string" }, width: { type: "integer" } }, required: ["from"] },
  returns: { type: "object", properties: { door: { type: "string" } } },
  annotations: { readOnly: true, openWorld: false }, effect: "pure",
  run: async ({ from, ...more }) => ({ status: "ok", text: "opened", value: { door: from, ...more }, source: "goald", artifacts: [] }) };`;

/** The last step with a result. */
const stepsIn = ({ all }: Seen): number =>
  Math.max(0, ...Array.from(all.matchAll(/Command run_code \(step (\d+)\)/g), ([, step]) => Number(step)));

const cells = (...codes: readonly string[]): readonly Line[] =>
  [...codes.map((code) => reply("run_code", { code })), reply("task_complete", { reason: "Done." })].map(
    (text, index) => ({ when: (seen) => stepsIn(seen) === index, say: () => text }),
  );

describe("methods of a home", () => {
  it("are found and called from code, and reach outside only by commands", async () => {
    await using home = await makeSeedHome(
      cells(
        'method_search("put commas between words")',
        'save_with_commas("one two  three", "words.txt")',
        'open_(from_="garden", width=None)["door"]',
        "insert_commas('a b')",
        'open_(from_="cellar")["door"] + method_search("open a door")',
      ),
    );
    await home.goald.write("methods/words.py", HELPERS);
    await home.goald.write("commands/open.js", OPEN);
    await home.run("json", { flags: ["--approve", "never"] });
    const log = await home.log();
    const results = log.flatMap((event) =>
      event.type === "command-finished" && /^c\d+$/.test(event.callId) ? [String(event.observation.text)] : [],
    );
    expect(results[0]?.split("\n")[0]).toBe(
      "`save_with_commas(text: str, file: str) -> int`: Puts commas between the words of a text and saves it.",
    );
    expect(results[1]).toBe("3");
    expect(await home.file("words.txt")).toBe("one, two, three");
    const called = log.flatMap((event) => (event.type === "command-requested" ? [event.call.name] : []));
    expect(called.filter((name) => name === "write_to_file")).toHaveLength(1);
    expect(results[2]).toBe("garden");
    expect(results[3]).toMatch(/NameError: name 'insert_commas' is not defined/);
    expect(results[3]).toMatch(/A search for it finds:\n`save_with_commas\(/);
    expect(results[4]).toMatch(/^cellar`open_\(from_: str, width: int \| None = None\) -> dict`: Opens a door/);
    const last = home.seen.at(-1)?.last ?? "";
    expect(last).toContain('"open", args: "from"');
    expect(last).toContain("`save_with_commas(text: str, file: str) -> int`");
    expect(home.seen[0]?.all).not.toContain("save_with_commas");
  });
});
