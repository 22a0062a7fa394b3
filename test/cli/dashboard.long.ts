import { chmod, mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf, endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { ask, greet, linkIn } from "../helpers/local-server.ts";
import { waitUntil } from "../helpers/waits.ts";

/** A port that nobody had a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function signIn(goald: Goald) {
  const { port, ticket } = linkIn(((await goald.json("dashboard")) as { readonly url: string }).url);
  const { body } = await ask({ port }, "POST", "/session", { body: { ticket } });
  const { secret } = body as { readonly secret: string };
  return { port, secret, key: await greet(port, secret) };
}
const statusOf = async (port: number, key: string): Promise<number> =>
  (await ask({ port }, "GET", "/v1/agents", { headers: { authorization: `Bearer ${key}` } })).status;

describe("goald dashboard", () => {
  it("goes on at the next daemon when the daemon was killed, and not after `goald down`", async () => {
    await using goald = await makeGoald();
    await using daemon = daemonOf(goald);
    const { port, secret, key } = await signIn(goald);
    expect(await statusOf(port, key)).toBe(200);
    await daemon.kill();
    await expect(statusOf(port, key)).rejects.toThrow("ECONNREFUSED");
    endedWith(0, await goald.ask("up"));
    expect(await statusOf(port, key)).toBe(401);
    expect(await statusOf(port, await greet(port, secret))).toBe(200);
    endedWith(0, await goald.ask("down"));
    endedWith(0, await goald.ask("up"));
    await expect(statusOf(port, key)).rejects.toThrow("ECONNREFUSED");
    expect(await goald.read(".goald/page.json")).toBe("null\n");
  });

  it("has the port of the setting", async () => {
    await using goald = await makeGoald();
    const port = await freePort();
    endedWith(0, await goald.ask(["config", "daemon.port", `${port}`]));
    endedWith(0, await goald.ask("up"));
    expect(await goald.json("status")).toMatchObject({ page: null });
    expect(await goald.print("status")).not.toContain("  page  ");
    expect((await signIn(goald)).port).toBe(port);
    // Without a ticket, so that it lets nobody in.
    const page = `http://127.0.0.1:${port}/`;
    expect(await goald.json("status")).toMatchObject({ page });
    expect(await goald.print("status")).toContain(`  page          ${page} is open; goald dashboard lets a browser in
`);
  });

  it("--open hands the address that it prints to the system's program", async () => {
    await using goald = await makeGoald();
    const file = join(goald.cwd, "opened");
    const folder = join(goald.cwd, "bin");
    await mkdir(folder);
    for (const name of ["open", "xdg-open"]) {
      await goald.write(join("..", "cwd", "bin", name), `#!/bin/sh\necho "$@" >> '${file}'\n`);
      await chmod(join(folder, name), 0o755);
    }
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const { stdout } = endedWith(0, await goald.ask("dashboard --open", { env }));
    const opened = () => readFile(file, "utf8").catch(() => "");
    await waitUntil("the program was started", async () => (await opened()) !== "");
    expect([await opened(), linkIn(stdout.trim()).ticket]).toEqual([stdout, expect.stringMatching(/^[\da-f]{64}$/)]);
  });
});
