import { execFile } from "node:child_process";
import type { RequestListener } from "node:http";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "@jest/globals";
import { type Loopback, listenOnLoopback } from "../helpers/loopback.ts";

const servers: Loopback[] = [];
async function serve(listener: RequestListener): Promise<string> {
  const listening = await listenOnLoopback(listener);
  servers.push(listening);
  return listening.origin;
}
afterEach(() => {
  for (const { close } of servers.splice(0)) void close();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("time", () => {
  it("to the first byte may exceed the limit of Node's fetch, and an idle connection keeps no process alive", async () => {
    const origin = await serve(async (_request, response) => {
      await sleep(2_500);
      response.end("at last");
    });
    // Node's limit is five minutes; here it is lowered to one second for everything but the door.
    const script = `
      void globalThis.Response;
      const key = Symbol.for("undici.globalDispatcher.1");
      globalThis[key] = new globalThis[key].constructor({ headersTimeout: 500 });
      const { createHttp } = await import("#http/http.ts");
      const read = (send) => send("${origin}").then((response) => response.text()).catch((error) => error.cause.code);
      console.log(JSON.stringify(await Promise.all([read(createHttp().to("${origin}")), read(fetch)])));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      cwd: import.meta.dirname,
    });
    expect(JSON.parse(stdout)).toEqual(["at last", "UND_ERR_HEADERS_TIMEOUT"]);
  });
});
