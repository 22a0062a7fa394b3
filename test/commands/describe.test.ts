import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { describeForPrompt, renderCommandTable } from "#commands/describe.ts";
import { loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import { checkCommand } from "#commands/validate.ts";

let all: readonly RegisteredCommand[];
beforeAll(async () => {
  all = (await loadRegistry([join(import.meta.dirname, "../../commands")])).all;
});
const made = (change: object) =>
  checkCommand("mine", "mine.ts", {
    name: "mine",
    label: "Mine",
    summary: "does this | that",
    args: { type: "object", properties: {} },
    annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    run: async () => undefined,
    ...change,
  });

describe("the command list of the prompt", () => {
  it("has one numbered line per command in AutoGPT's form", () => {
    const lines = describeForPrompt(all).split("\n");
    expect(lines.map((line) => line.split(" -- ")[0])).toEqual([
      '1. Write to file: "write_to_file", args: "file": "<file>", "text": "<text>"',
      '2. Read file: "read_file", args: "file": "<file>", optional "first_line": "<number>", "last_line": "<number>"',
      '3. Append to file: "append_to_file", args: "file": "<file>", "text": "<text>"',
      '4. Edit file: "edit_file", args: "file": "<file>", "old": "<text>", "new": "<text>", optional "count": "<number>"',
      '5. Move file: "move_file", args: "from": "<file>", "to": "<file>"',
      '6. Delete file: "delete_file", args: "file": "<file>"',
      '7. Search Files: "search_files", args: "directory": "<directory>", optional "text": "<text>", "limit": "<number>"',
      '8. Ask user: "ask_user", args: "question": "<question>"',
      '9. Do Nothing: "do_nothing", args:',
      '10. Task Complete (Shutdown): "task_complete", args: "reason": "<reason>"',
    ]);
  });

  it("adds the summary only where the line has room", () => {
    expect(
      describeForPrompt(all)
        .split("\n")
        .every((line) => line.includes(" -- ") && line.length <= 240),
    ).toBe(true);
    expect(describeForPrompt([made({ summary: "x".repeat(230) })])).toBe('1. Mine: "mine", args:');
  });

  it("names an argument by its hint, its choices or itself", () => {
    const properties = {
      a: { type: "string", description: "d", hint: "what" },
      b: { type: "string", description: "d", enum: ["x", "y"] },
      c: { type: "integer", description: "d" },
    };
    const line = describeForPrompt([made({ args: { type: "object", properties, required: ["c", "a", "b"] } })]);
    expect(line).toContain('args: "a": "<what>", "b": "<x|y>", "c": "<c>" --');
  });
});

describe("the table of commands", () => {
  it("has a row for each command, with what it risks", () => {
    const rows = renderCommandTable(all).split("\n");
    expect(rows).toHaveLength(all.length + 2);
    expect(rows[2]).toMatch(/^\| `write_to_file` \| .* \| `file`, `text` \| safe to repeat \| restorable \| {2}\|$/);
    expect(rows[3]).toMatch(/\| `file`, `first_line\?`, `last_line\?` \| safe to repeat \| none \| {2}\|$/);
  });

  it.each([
    [{}, "asks first"],
    [{ annotations: { readOnly: true, openWorld: true } }, "reads outside"],
    [{ annotations: { readOnly: false, destructive: true, openWorld: false } }, "asks first"],
    [{ annotations: { readOnly: false, destructive: false, openWorld: false } }, "only adds"],
  ])("names the risk of %j", (change, risk) => {
    const row =
      renderCommandTable([made(change)])
        .split("\n")
        .at(-1) ?? "";
    expect(row).toContain(`| never repeated | ${risk} |`);
    expect(row).toContain("does this \\| that");
  });
});
