import { probeCage } from "#cage/find-cage.ts";
import { createPageReader } from "#services/page/read-page.ts";

/** reading-host.child.ts -- a host that reads the pages named by its arguments, and prints each text and its readers. */

const [atMost, ...pages] = process.argv.slice(2);
const forDaysMs = 2 ** 31 - 1;
const reader = createPageReader({
  findCage: () => probeCage({ atMost: atMost as "strict" }),
  program: new URL("./stubborn-reader.child.ts", import.meta.url),
  idleMs: forDaysMs,
  timeLimitMs: forDaysMs,
});
for (const page of pages) {
  const reading = reader.read(
    Buffer.from(`<p>${page}`),
    "text/html",
    "https://a.example/",
    new AbortController().signal,
  );
  if (page.startsWith("do: ")) while (reader.pids.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  else await reading;
  console.log(JSON.stringify({ page, pids: reader.pids }));
}
