import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createDownloads, createPoliteWeb } from "#services/web/polite-web.ts";
import { createValueRedactor } from "#util/redact.ts";
import download_file from "../../commands/download_file.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { failureOf } from "../helpers/folder.ts";
import { type DualStack, listenOnBoth } from "../helpers/loopback.ts";
import { call, contextOf, REFUSED_PATHS } from "./context.ts";
import { useDesk } from "./use-desk.ts";

const desk = useDesk();
let site: DualStack;
let asked: string[];
let answer: RequestListener;
beforeAll(async () => {
  site = await listenOnBoth((request, response) => {
    if (request.url === "/robots.txt") return response.writeHead(404).end();
    asked.push(request.url ?? "");
    return answer(request, response);
  });
});
afterAll(async () => site[Symbol.asyncDispose]());
beforeEach(() => {
  asked = [];
});

const KEY = "MARKERkey-7f3a9c1e5b2d8f604a6c";
const MAX_BYTES = 100_000;
const origin = (): string => `http://127.0.0.1:${site.port}`;
function download(file: string, path = "/data.csv", signal = new AbortController().signal) {
  const http = createHttp({}, { allow: [origin()] });
  const web = createPoliteWeb({ http, clock: fakeClock({ auto: true }), userAgent: "goald/0", obeysRobots: true });
  const context = {
    ...contextOf(desk.workspace, { downloads: createDownloads(web, MAX_BYTES, createValueRedactor([KEY])) }),
    signal,
  };
  return call(download_file, { url: path.startsWith("/") ? origin() + path : path, file }, context);
}
const files = async (): Promise<string[]> => (await readdir(desk.folder, { recursive: true })).sort();

describe("download_file", () => {
  it("saves the bytes unchanged, and reports type and size", async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 0xc3, 0x28]);
    answer = (_request, response) => response.writeHead(200, { "content-type": "text/csv; charset=x" }).end(bytes);
    const observation = await download("data/prices.csv");
    expect(observation).toEqual({
      ...{ status: "ok", source: "web", artifacts: ["data/prices.csv"], value: "data/prices.csv" },
      text: `Saved ${origin()}/data.csv as data/prices.csv (text/csv, 6 bytes); the file is new.`,
    });
    expect(await readFile(join(desk.folder, "data/prices.csv"))).toEqual(bytes);
  });

  it("keeps a key of the settings that is in the file, and reports it", async () => {
    answer = (_request, response) => response.end(`a,b\n1,${KEY}\n`);
    const { text } = await download("keys.csv");
    expect(text).toMatch(/ It contains a key or password of the person's settings: do not copy or send it\.$/);
    expect(await readFile(join(desk.folder, "keys.csv"), "utf8")).toContain(KEY);
  });

  it("makes no executable file, and runs nothing", async () => {
    answer = (_request, response) =>
      response.writeHead(200, { "content-type": "text/x-sh" }).end("#!/bin/sh\ntouch ran\n");
    await download("run.sh");
    expect((await stat(join(desk.folder, "run.sh"))).mode & 0o111).toBe(0);
    expect(await files()).toEqual(["run.sh"]);
  });

  it("has the same result when run twice; the old content is first kept in the history", async () => {
    await writeFile(join(desk.folder, "a.txt"), "old");
    answer = (_request, response) => response.end("new");
    expect((await download("a.txt")).text).toContain("it replaced 3 bytes");
    await download("a.txt");
    expect(await files()).toEqual(["a.txt"]);
    expect(desk.changes.some(({ content }) => content && Buffer.from(content).toString() === "old")).toBe(true);
  });

  it("reports a page in place of a file, and does not trust unusual types", async () => {
    answer = (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Log in");
    expect((await download("a.zip")).text).toContain("perhaps in place of the file");
    expect((await download("a.html")).text).not.toContain("in place of");
    answer = (_request, response) => response.writeHead(200, { "content-type": "do as I say" }).end("x");
    expect((await download("b")).text).toContain("(no type was said, 1 byte)");
  });

  const breaksOff: RequestListener = (_request, response) => {
    response.writeHead(200, { "content-length": 1_000 });
    response.write("half", () => response.destroy());
  };
  it.each<[title: string, listener: RequestListener, code: string]>([
    ["is not there", (_request, response) => response.writeHead(404).end(), "GOALD_WEB"],
    ["is too large", (_request, response) => response.end("x".repeat(MAX_BYTES + 1)), "GOALD_HTTP_TOO_LARGE"],
    ["breaks off", breaksOff, "GOALD_WEB"],
  ])("that %s leaves everything as it was", async (_title, listener, code) => {
    answer = listener;
    await writeFile(join(desk.folder, "kept.txt"), "kept");
    expect(await failureOf(download("kept.txt"))).toMatchObject({ code });
    expect(await failureOf(download("new/file.txt"))).toMatchObject({ code });
    expect(await files()).toEqual(["kept.txt"]);
    expect(await readFile(join(desk.folder, "kept.txt"), "utf8")).toBe("kept");
  });

  it("leaves no temporary files behind in 40 downloads, of which a half breaks off", async () => {
    const [temporary, kept] = [join(desk.home, "tmp"), process.env.TMPDIR];
    await mkdir(temporary);
    process.env.TMPDIR = temporary;
    let answers = 0;
    answer = (request, response) => (++answers % 2 === 1 ? response.end(`${answers}`) : breaksOff(request, response));
    try {
      for (let at = 0; at < 40; at++) await failureOf(download("same.txt"));
    } finally {
      if (kept === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = kept;
    }
    expect([answers, await files(), await readdir(temporary)]).toEqual([40, ["same.txt"], []]);
  });

  it("leaves nothing after a timeout", async () => {
    answer = (_request, response) => void response.write("half");
    const failure = await failureOf(download("a.txt", "/slow", AbortSignal.timeout(100)));
    expect(failure).toMatchObject({ name: "TimeoutError" });
    expect(await files()).toEqual([]);
  });

  it.each([
    ...["http://localhost/", "http://169.254.169.254/latest/", "http://[::1]/", "file:///etc/passwd"],
    "data:text/plain,x",
  ])("rejects %s", async (url) => {
    expect(await failureOf(download("a.txt", url))).toMatchObject({ code: "GOALD_HTTP_REFUSED" });
    expect(await files()).toEqual([]);
  });

  it.each(REFUSED_PATHS)("sends no request for the refused path %j", async (path) => {
    await mkdir(join(desk.folder, "a"), { recursive: true });
    expect(await failureOf(download(path))).toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(asked).toEqual([]);
  });

  it("sends no request when a link leads outside the workspace", async () => {
    await chmod(desk.folder, 0o755);
    await symlink("/tmp", join(desk.folder, "out"));
    expect(await failureOf(download("out/a.txt"))).toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(asked).toEqual([]);
  });
});
