import { afterAll, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import { openGoalTests } from "#loop/goal-tests.ts";
import { contextOf } from "../commands/context.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";

afterAll(() => real.close());
const real = createSandbox({ findCage, cacheFolder: useSharedFolder(), maxProcesses: 2 });
/** A check may take minutes; not in this test. */
const sandbox: Sandbox = {
  ...real,
  run: (cell, ...rest) => real.run({ ...cell, timeLimitMs: 2_000 }, ...rest),
};

const FILES = {
  "prime.py": "def is_prime(n):\n    return n > 1 and all(n % d for d in range(2, n))\n",
  "data.json": '{"cities": ["Chengdu"]}',
};
let versions = 0;
async function check(code: string) {
  const files = new Map(Object.entries(FILES).map(([path, text]) => [path, new Uint8Array(Buffer.from(text))]));
  const workspace = new MemoryWorkspace({ files });
  const parts = { agentId: "foo", clock: fakeClock(), nextVersion: () => `c1#1 test ${++versions}` };
  const tests = openGoalTests({ ...parts, cells: { sandbox, timeLimitMs: 1 } });
  const verdict = await tests.run({ kind: "code", code }, contextOf(workspace));
  const after = Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]));
  expect(after).toEqual(FILES);
  return verdict;
}

it.each<[title: string, code: string, isPassed: boolean, proof: RegExp]>([
  [
    "passes",
    "import json\nprint(len(json.load(open('data.json'))['cities']), 'city')",
    true,
    /^It ended without an error\. It printed: 1 city$/,
  ],
  [
    "uses the agent's module",
    "from prime import is_prime\nassert [n for n in range(9) if is_prime(n)] == [2, 3, 5, 7]",
    true,
    /without an error/,
  ],
  ["passes with sys.exit(0)", "import sys\nsys.exit(0)\nraise Exception", true, /without an error/],
  [
    "fails with sys.exit(3)",
    "import sys\nprint('three tests failed')\nsys.exit(3)",
    false,
    /^It ended with exit code 3\. It printed: three tests failed$/,
  ],
  [
    "fails with a text for sys.exit",
    "import sys\nsys.exit('no cities')",
    false,
    /^It ended with exit code no cities\.$/,
  ],
  [
    "fails in an assertion",
    "n = 41\nassert n == 42, 'n is not 42'",
    false,
    /^It failed: AssertionError: n is not 42 \(line 2: assert n == 42, 'n is not 42'\)\.$/,
  ],
  ["fails with wrong syntax", "assert (", false, /^It failed: SyntaxError: /],
  ["fails for a missing file", "open('none.txt')", false, /FileNotFoundError/],
  ["does not see names of the check before", "print(n)", false, /NameError: name 'n' is not defined/],
  ["is stopped when it never ends", "while True: pass", false, /^It ran longer than 300 s and was stopped\.$/],
  ["cannot change a file", "open('data.json', 'w').write('{}')", false, /may read files, and not change them/],
  [
    "may write outside of the folder, which is lost",
    "open('/tmp/x', 'w').write('x')\nassert open('/tmp/x').read() == 'x'",
    true,
    /without an error/,
  ],
  ["reaches no network", "import urllib.request\nurllib.request.urlopen('http://127.0.0.1/')", false, /^It failed: /],
  ["calls no commands", "write_to_file('a.txt', 'a')", false, /NameError: name 'write_to_file'/],
  ["gives the model no work", "import agent\nagent.run('x')", false, /^It failed: /],
])("a program in Python that tests a goal %s", async (_title, code, isPassed, proof) => {
  expect(await check(code)).toEqual({ isPassed, proof: expect.stringMatching(proof) });
});
