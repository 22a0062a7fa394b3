import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { startServiceServer } from "../helpers/service-server.ts";

describe("a download that kill -9 interrupts", () => {
  it("is repeated after a resume with a complete file, and leaves no partial one", async () => {
    await using site = await startServiceServer(({ path }, index) => {
      if (path === "/robots.txt") return { status: 404 };
      return index === 1 ? { fault: "stall-body" } : { status: 200, body: "all of it" };
    });
    await using model = await startOpenAIServer({
      reply: numberedModel([{ name: "download_file", args: { url: `${site.origin}/a.txt`, file: "data/a.txt" } }]),
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: model.baseUrl, GOALD_WEB_ALLOW: site.origin });
    const running = goald.start(["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"]);
    await site.asked(2);
    running.kill("SIGKILL");
    await running.ended;
    await daemonOf(goald).kill();

    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    const { log, problems } = await lookInto(goald);
    const started = log.flatMap((event) => (event.type === "command-started" ? [event] : []));
    expect(started.filter(({ effect }) => effect === "idempotent")).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    expect(new Set(started.slice(0, 2).map(({ callId }) => callId)).size).toBe(1);
    expect(problems).toEqual([]);
    const folder = join(goald.home, "workspace/t");
    expect(await readdir(join(folder, "data"))).toEqual(["a.txt"]);
    expect(await readFile(join(folder, "data/a.txt"), "utf8")).toBe("all of it");
  });
});
