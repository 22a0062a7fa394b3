/** Unlisted commands and Python helpers of a home, as the verbs show and refuse them. */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { catalogueHash, loadCatalogue } from "#app/catalogue.ts";
import { findHome, type Home } from "#config/home.ts";
import { initialState } from "#core/state.ts";
import { endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";

const HELPERS = `"""Helpers."""
def add_commas(text: str) -> str:
    """Puts commas between the words of a text."""
    return ", ".join(text.split())

def _hidden(): pass
`;
const WAVE = 'export default { name: "wave", summary: "Waves.", listed: false, run: async () => "done" };';

let goald: Goald;
let home: Home;
beforeAll(async () => {
  goald = await makeGoald();
  endedWith(0, await goald.ask(["init"]));
  await goald.write("commands/wave.js", WAVE);
  await goald.write("methods/words.py", HELPERS);
  const never = async (): Promise<boolean> => false;
  const where = { env: {}, cwd: goald.cwd, checkout: undefined, userHome: goald.userHome, configHome: undefined };
  home = await findHome({ ...where, flag: goald.home, isTerminal: false, askTrust: never, uid: process.getuid?.() });
});
afterAll(async () => goald[Symbol.asyncDispose]());

const methods = join("methods", "words.py");
const load = () => loadCatalogue(home, { methods: { ready: true } });

describe("goald commands", () => {
  it("shows unlisted commands as such, and the Python helpers", async () => {
    const table = endedWith(0, await goald.ask(["commands"])).stdout;
    expect(table).toMatch(/^wave +unlisted /m);
    expect(table).toMatch(/^read_file +ready /m);
    expect(table).toMatch(/^ {2}add_commas\(text: str\) -> str {2}\(.*methods\/words\.py\)$/m);
    expect(table).not.toContain("_hidden");
    const { commands, methods: listed } = JSON.parse(endedWith(0, await goald.ask(["commands", "--json"])).stdout) as {
      readonly commands: readonly { readonly name: string; readonly listed: boolean }[];
      readonly methods: readonly object[];
    };
    expect(commands.flatMap(({ name, listed: isListed }) => (isListed ? [] : [name]))).toEqual(["wave"]);
    expect(listed).toEqual([
      {
        name: "add_commas",
        signature: "add_commas(text: str) -> str",
        doc: "Puts commas between the words of a text.",
        file: join(goald.home, methods),
      },
    ]);
    expect(endedWith(0, await goald.ask(["commands", "wave"])).stdout).toContain("method_search finds it");
  });

  it("is in goald doctor as a number", async () => {
    const { stdout } = await goald.ask(["doctor"]);
    expect(stdout).toMatch(/commands, 1 Python helper, prompts and prices can be read/);
  });
});

describe("the Python helpers of a home", () => {
  it("are refused when others may write them, as commands are", async () => {
    const path = join(goald.home, methods);
    await chmod(path, 0o666);
    const refused = await goald.ask(["commands"]);
    expect(endedWith(1, refused).stderr).toMatch(/words\.py can be written by others \(mode 666\)/);
    await chmod(path, 0o644);
    endedWith(0, await goald.ask(["commands"]));
  });

  it.each([
    ["that a command has", "def read_file(path): pass", /words2\.py:1 defines read_file, which is also a command/],
    ["of another file", "def add_commas(x): pass", /words2\.py:1 defines add_commas, which is also in .*words\.py/],
    ["in no text", Buffer.from([0xff, 0xfe, 0]), /words2\.py cannot be read as UTF-8 text/],
  ])("are refused for a name %s", async (_which, source, says) => {
    const path = join(goald.home, "methods", "words2.py");
    await writeFile(path, source);
    const error = errorOf(endedWith(2, await goald.ask(["commands", "--json"])));
    expect(error.code).toBe("GOALD_COMMAND_INVALID");
    expect(error.message).toMatch(says);
    await writeFile(path, "");
  });

  it("are read again with the commands, and are a part of the hash of the catalogue", async () => {
    const before = await load();
    expect(before.commandsFor(initialState).modules.map(({ file }) => file)).toEqual(["words.py", "words2.py"]);
    await goald.write(methods, HELPERS.replace("add_commas", "join_words"));
    const after = await load();
    expect(after.commandsFor(initialState).callable.describe(["join_words"])).toHaveLength(1);
    expect(catalogueHash(after)).not.toBe(catalogueHash(before));
    await goald.write(methods, HELPERS);
    expect(catalogueHash(await load())).toBe(catalogueHash(before));
  });
});
