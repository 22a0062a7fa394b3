import { describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, lookInto } from "../helpers/goald.ts";
import {
  foundBy,
  RESEARCH_BRIEF,
  RESEARCH_GOALS,
  RESEARCH_PAGES,
  type ResearchPage,
  researchCalls,
  SEARCHES,
} from "../helpers/research-run.ts";
import { startSearchServer } from "../helpers/search-servers.ts";
import { startServiceServer } from "../helpers/service-server.ts";
import { subagentModel } from "../helpers/subagent-model.ts";

const SITES = 5;
const FROM_BRIEF = "Hofmann & Adler, customer number 88-2041-77";
const ROLE = ["--role", "compares software", ...RESEARCH_GOALS.flatMap((goal) => ["--goal", goal])];

type Log = readonly RecordedEvent[];
const countOf = (log: Log, type: RecordedEvent["type"]): number => log.filter((event) => event.type === type).length;

/**
 * Five sites with forty pages, a search server that finds them, and a model that does the research as A and as B.
 * In the end B searches for words of its brief.
 */
async function makeResearchWeb() {
  const urlOf = (page: number): string => `${sites[page % SITES]?.origin}${RESEARCH_PAGES[page]?.path}`;
  const htmlOf = ({ title, text, links }: ResearchPage): string =>
    `<title>${title}</title><main><h1>${title}</h1><p>${text}</p>${links
      .map((page) => `<p><a href="${urlOf(page)}">${RESEARCH_PAGES[page]?.title}</a></p>`)
      .join("")}</main>`;
  const sites = await Promise.all(
    Array.from({ length: SITES }, () =>
      startServiceServer(({ path }) => {
        const page = RESEARCH_PAGES.find((one) => one.path === path);
        return page
          ? { status: 200, headers: { "content-type": "text/html" }, body: htmlOf(page) }
          : { status: 404, body: "" };
      }),
    ),
  );
  const search = await startSearchServer("searxng", [], (index) => ({
    status: 200,
    body: {
      query: "q",
      number_of_results: 0,
      results: foundBy(SEARCHES[index % SEARCHES.length] ?? "").map((page) => ({
        title: RESEARCH_PAGES[page]?.title,
        url: urlOf(page),
        content: RESEARCH_PAGES[page]?.text.slice(0, 90),
        engine: "x",
        score: 1,
      })),
      answers: [],
      unresponsive_engines: [],
    },
  }));
  const calls = researchCalls(urlOf);
  const think = subagentModel({ A: calls, B: [...calls, { name: "google", args: { input: FROM_BRIEF } }] });
  const home = await makeDaemonHome([], {
    reply: (request) =>
      request.messages[0]?.content.startsWith("You are ") ? think(request) : "The page says what it says.",
    env: {
      GOALD_WEB_ALLOW: sites.map(({ origin }) => origin).join(","),
      SEARXNG_URL: search.origin,
      GOALD_SEARCH_PROVIDERS: "searxng",
    },
  });
  for (const agent of ["a", "b"]) await home.goald.write(`workspace/${agent}/brief.md`, RESEARCH_BRIEF);
  return {
    home,
    search,
    /** Paths of the pages that were fetched. */
    fetched: (): readonly string[] =>
      sites.flatMap(({ requests }) => requests.map(({ path }) => path).filter((path) => path !== "/robots.txt")),
    [Symbol.asyncDispose]: async () => {
      for (const one of [home, search, ...sites]) await one[Symbol.asyncDispose]();
    },
  };
}

const PATHS = RESEARCH_PAGES.map(({ path }) => path).toSorted();

describe("a research run of forty pages and ten searches on a web on loopback", () => {
  it("asks at most two questions in the background", async () => {
    await using web = await makeResearchWeb();
    const { home, search, fetched } = web;
    endedWith(
      0,
      await home.goald.run(["run", "-d", "--name", "A", "--approve", "risky", "--max-steps", "200", ...ROLE]),
    );
    let log: Log = [];
    let approved = 0;
    for (let steps = 0; countOf(log, "turn-finished") === 0; ) {
      // Each wait is for one more step, because a wait has a limit.
      await home.until(async () => {
        ({ log } = await lookInto(home.goald, "a"));
        return (
          countOf(log, "model-asked") > steps ||
          countOf(log, "approval-asked") > approved ||
          countOf(log, "turn-finished") > 0
        );
      }, "the next step");
      steps = countOf(log, "model-asked");
      if (countOf(log, "approval-asked") === approved) continue;
      approved++;
      endedWith(0, await home.goald.ask(["approve", "a"]));
    }
    const questions = log.flatMap((event) => (event.type === "approval-asked" ? [event.reason] : []));
    expect(questions.length).toBeLessThanOrEqual(2);
    expect(countOf(log, "command-denied")).toBe(0);
    expect(fetched().toSorted()).toEqual(PATHS);
    expect(search.queries).toEqual(SEARCHES);
  });

  it("is refused nothing when nobody can be asked, but then a search for words of its brief is", async () => {
    await using web = await makeResearchWeb();
    const { home, search, fetched } = web;
    endedWith(0, await home.goald.run(["run", "--continuous", "--name", "B", "--max-steps", "200", ...ROLE]));
    const { log } = await lookInto(home.goald, "b");
    const denied = log.flatMap((event) => (event.type === "command-denied" ? [event.callId] : []));
    const calls = log.flatMap((event) =>
      event.type === "command-requested" && denied.includes(event.callId) ? [event.call] : [],
    );
    expect(calls).toMatchObject([{ name: "google", args: { input: FROM_BRIEF } }]);
    expect(fetched().toSorted()).toEqual(PATHS);
    expect(search.queries).toEqual(SEARCHES);
  });
});
