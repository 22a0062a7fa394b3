import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, it } from "@jest/globals";
import { useOpened } from "../helpers/folder.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";

const keep = useOpened();

it("time to the first byte may exceed the limit of Node's fetch, and an idle connection keeps no process alive", async () => {
  const { origin } = keep(
    await listenOnLoopback(async (_request, response) => {
      await sleep(2_500);
      response.end("at last");
    }),
  );
  // Node's limit is five minutes; here it is lowered to one second for everything but the door.
  const script = `
    void globalThis.Response;
    const key = Symbol.for("undici.globalDispatcher.1");
    globalThis[key] = new globalThis[key].constructor({ headersTimeout: 500 });
    const { createHttp } = await import("#http/http.ts");
    const read = (send) => send("${origin}").then((response) => response.text()).catch((error) => error.cause.code);
    console.log(JSON.stringify(await Promise.all([read(createHttp().to("${origin}")), read(fetch)])));
  `;
  const args = ["--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  expect(JSON.parse(stdout)).toEqual(["at last", "UND_ERR_HEADERS_TIMEOUT"]);
});
