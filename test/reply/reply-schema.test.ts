import { describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import { loadRegistry } from "#commands/registry.ts";
import { createReplyReader } from "#reply/read.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";
import { RESPONSE_FORMAT } from "../helpers/strict-schema.ts";

const THOUGHTS = { text: "a", reasoning: "b", plan: "c", criticism: "d", speak: "e" };

async function make() {
  const { all, get } = await loadRegistry(["commands"]);
  const schemas = Object.fromEntries(all.map((command) => [command.name, command.args]));
  const hasSideEffect = (name: string) => get(name)?.annotations.readOnly !== true;
  const read = createReplyReader({ schemas, hasSideEffect, aliases: { commands: {}, args: {} } });
  return { all, schema: buildReplySchema(all) as { properties: { command: { anyOf: object[] } } }, read };
}

describe("the schema of a reply", () => {
  it("is accepted by strict servers: all closed, all required, no two branches with the same first key", async () => {
    const { schema, all } = await make();
    const ajv = new Ajv({ strict: false });
    const isTaken = ajv.compile({ type: "object", properties: { response_format: RESPONSE_FORMAT } });
    const format = { type: "json_schema", json_schema: { name: "reply", strict: true, schema } };
    expect(isTaken({ response_format: format })).toBe(true);
    const first = schema.properties.command.anyOf.map((branch) =>
      Object.keys((branch as { properties: object }).properties),
    );
    expect(first).toEqual(all.map(({ name }) => [name]));
    expect(JSON.stringify(schema).length).toBeLessThan(6_000);
  });

  it("can fail: an open object is refused", () => {
    const ajv = new Ajv({ strict: false });
    const isTaken = ajv.compile({ type: "object", properties: { response_format: RESPONSE_FORMAT } });
    const open = { type: "object", properties: {}, required: [] };
    const format = { type: "json_schema", json_schema: { name: "reply", strict: true, schema: open } };
    expect(isTaken({ response_format: format })).toBe(false);
  });

  it("describes replies that the reader accepts, with omitted arguments as null", async () => {
    const { schema, read } = await make();
    const isValid = new Ajv().compile(schema);
    const reply = { thoughts: THOUGHTS, command: { search_files: { directory: "", text: null, limit: null } } };
    expect(isValid(reply)).toBe(true);
    expect(isValid({ ...reply, command: { name: "search_files", args: {} } })).toBe(false);
    expect(read(JSON.stringify(reply), "stop")).toMatchObject({
      kind: "command",
      call: { name: "search_files", args: { directory: "" } },
      thoughts: THOUGHTS,
      repaired: false,
    });
  });

  it("does not allow null for a required argument", async () => {
    const { read } = await make();
    const reply = { thoughts: THOUGHTS, command: { read_file: { file: null } } };
    expect(read(JSON.stringify(reply), "stop").kind).toBe("problem");
  });

  it("does not let a damaged letter run", async () => {
    const { read } = await make();
    const reply = (text: string) => JSON.stringify({ command: { name: "append_to_file", args: { file: "a", text } } });
    expect(read(reply("caf\ufffd"), "stop")).toMatchObject({
      kind: "problem",
      problems: [expect.stringContaining("U+FFFD")],
    });
    expect(read(reply("café"), "stop").kind).toBe("command");
  });
});
