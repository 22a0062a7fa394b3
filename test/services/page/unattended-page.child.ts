/** unattended-page.child.ts -- reads two pages, waits for nothing else, and ends although the thread is still there. */
import { createPageReader } from "#services/page/read-page.ts";

const forDaysMs = 2 ** 31 - 1;
const reader = createPageReader({ idleMs: forDaysMs });
for (const html of ["<p>one", "<p>two"]) {
  const { text } = await reader.read(
    Buffer.from(html),
    "text/html",
    "https://a.example/",
    new AbortController().signal,
  );
  console.log(text, reader.isRunning);
}
