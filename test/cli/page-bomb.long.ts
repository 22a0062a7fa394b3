import { describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { startServiceServer } from "../helpers/service-server.ts";
import { inflatingPdf, manyStreamsPdf, twiceDeflatedPdf } from "../services/pdf-bombs.ts";

/** A small server: 2 GB of data for each process. */
const SMALL_SERVER = 'ulimit -d 2000000; exec "$@"';

describe("a daemon of two agents on a small server", () => {
  it("reads a PDF of 1 MB that inflates to 1 GB, and other bombs, and neither it nor the other agent notices", async () => {
    const bombs = [await inflatingPdf(1_000), await twiceDeflatedPdf(1_000), await manyStreamsPdf(8, 1_000)];
    await using site = await startServiceServer(({ path }) => {
      const bomb = bombs[Number(/^\/paper-(\d)\.pdf$/.exec(path)?.[1] ?? -1)];
      return bomb ? { status: 200, body: bomb, headers: { "content-type": "application/pdf" } } : { status: 404 };
    });
    const readAll = numberedModel(
      bombs.map((_, index) => ({
        name: "browse_website",
        args: { url: `${site.origin}/paper-${index}.pdf`, question: "What is it about?" },
      })),
    );
    const writeLines = numberedModel(ledger(20));
    await using model = await startOpenAIServer({
      reply: (request) => (JSON.stringify(request).includes("Read the papers") ? readAll : writeLines)(request),
      embeddings: null,
    });
    await using goald = await makeGoald({
      OPENAI_BASE_URL: model.baseUrl,
      GOALD_MEMORY_EMBEDDER: "offline",
      GOALD_WEB_ALLOW: site.origin,
    });
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.run(["up"], { shell: SMALL_SERVER }));
    const pid = daemon.pid();
    const start = (name: string, goal: string) =>
      goald.run(["run", "-d", "--name", name, "--role", "r", "--goal", goal, "--continuous", "--json"]);
    const papers = bombs.map((_, index) => `${site.origin}/paper-${index}.pdf`).join(" ");
    endedWith(0, await start("Reader", `Read the papers ${papers}`));
    endedWith(0, await start("Writer", "Write lines"));
    const isFinished = async (agent: string): Promise<boolean> =>
      (await lookInto(goald, agent)).log.some(({ type }) => type === "turn-finished");
    await daemon.until("both are done", async () => (await isFinished("reader")) && (await isFinished("writer")));

    const { log, problems } = await lookInto(goald, "reader");
    const observations = log.flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
    expect(observations.slice(0, bombs.length).map(({ text }) => text)).toEqual(
      bombs.map(() => expect.stringMatching(/It needed more than 512 MB of memory|It took longer than 10 s/)),
    );
    expect(problems).toEqual([]);
    expect(await goald.read("workspace/writer/ledger.txt")).toBe(ledgerText(20));
    expect((await lookInto(goald, "writer")).log.filter(({ type }) => type === "agent-resumed")).toEqual([]);
    expect(daemon.pid()).toBe(pid);
    const { level } = await findCage();
    const status = JSON.parse((await goald.run(["status", "--json"])).stdout) as { rssBytes: number; cage: unknown };
    expect(status).toMatchObject({ cage: { level } });
    expect(status.rssBytes).toBeLessThan(400_000_000);
  });
});
