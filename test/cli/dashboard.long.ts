import { chmod, mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf, endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { ask, linkIn } from "../helpers/local-server.ts";
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
  const { key } = body as { readonly key: string };
  return { port, headers: { authorization: `Bearer ${key}` } };
}

describe("goald dashboard", () => {
  it("keeps its port by the setting when the daemon was killed, and the next daemon knows no key of the one before", async () => {
    await using goald = await makeGoald();
    await using daemon = daemonOf(goald);
    const port = await freePort();
    endedWith(0, await goald.ask(["config", "daemon.port", `${port}`]));
    const before = await signIn(goald);
    expect(before.port).toBe(port);
    // Without a ticket or a key, so that it lets nobody in.
    const page = `http://127.0.0.1:${port}/`;
    expect(await goald.json("status")).toMatchObject({ page });
    expect(await goald.print("status")).toContain(
      `  page          ${page} is open; goald dashboard lets a browser in\n`,
    );
    expect((await ask(before, "GET", "/v1/agents", before)).status).toBe(200);
    await daemon.kill();
    await expect(ask(before, "GET", "/v1/agents", before)).rejects.toThrow("ECONNREFUSED");
    endedWith(0, await goald.ask("up"));
    // Nobody has asked the new daemon for its page.
    expect(await goald.json("status")).toMatchObject({ page: null });
    expect(await goald.print("status")).not.toContain("  page  ");
    await expect(ask(before, "GET", "/")).rejects.toThrow("ECONNREFUSED");
    const after = await signIn(goald);
    expect(after.port).toBe(port);
    expect((await ask(before, "GET", "/v1/agents", before)).status).toBe(401);
    expect((await ask(after, "GET", "/v1/agents", after)).status).toBe(200);
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
