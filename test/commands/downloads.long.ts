import type { RequestListener } from "node:http";
import { expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createDownloads, createPoliteWeb } from "#services/web/polite-web.ts";
import download_file from "../../commands/download_file.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { listenOnBoth } from "../helpers/loopback.ts";
import { repeatDownloads } from "./command-runs.ts";
import { call, contextOf, makeDesk } from "./context.ts";

it("1,000 downloads, of which a half breaks off, leave no temporary files", async () => {
  await using desk = await makeDesk();
  let answer: RequestListener = (_request, response) => void response.end();
  await using site = await listenOnBoth((request, response) =>
    request.url === "/robots.txt" ? response.writeHead(404).end() : answer(request, response),
  );
  const origin = `http://127.0.0.1:${site.port}`;
  const http = createHttp({}, { allow: [origin] });
  const web = createPoliteWeb({ http, clock: fakeClock({ auto: true }), userAgent: "goald/0", obeysRobots: true });
  const context = contextOf(desk.workspace, { downloads: createDownloads(web, 1_000) });
  const download = () => call(download_file, { url: `${origin}/a`, file: "same.txt" }, context).catch(() => undefined);
  const left = await repeatDownloads(desk, 1_000, download, (listener) => {
    answer = listener;
  });
  expect(left).toEqual({ folder: ["same.txt"], temporary: [] });
});
