import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald } from "../helpers/goald.ts";
import { ledger } from "../helpers/numbered-model.ts";

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** The files with a named function that ran, as V8 tells when the daemon ends. */
function ranIn({ cwd }: Pick<Goald, "cwd">): readonly string[] {
  const folder = join(cwd, "coverage");
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage;
    const ran = result.filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0),
    );
    return ran.map(({ url }) => url);
  });
}

it("the replies of a run go through the files that the design page lists", async () => {
  await using home = await makeDaemonHome(ledger(7));
  const { goald } = home;
  const daemon = goald.start(["up", "--foreground"], { env: { NODE_V8_COVERAGE: join(goald.cwd, "coverage") } });
  await daemon.see("is ready");
  endedWith(0, await goald.run(["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous"]));
  daemon.kill("SIGTERM");
  endedWith(0, await daemon.ended);
  const page = readFileSync("docs/design.md", "utf8");
  const [, tour = ""] = /### One reply, file by file\n([\s\S]*?)\n### /.exec(page) ?? [];
  const listed = [...tour.matchAll(/^\| `((?:src|commands)\/\S+)` \|/gm)].map(([, path = ""]) => path);
  expect(listed.length).toBeGreaterThan(10);
  const ran = ranIn(goald);
  expect(listed.filter((path) => !ran.some((url) => url.endsWith(`/${path}`)))).toEqual([]);
});
