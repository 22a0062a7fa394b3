/**
 * attack-ground.ts -- a folder of an agent with planted links, secrets beside it, listeners on loopback, and a process that an
 * attack might kill. `findHarm` tells what an attack did outside.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isGoaldError } from "#core/errors.ts";
import type { CellBridge, CellFile, CellReply } from "#core/ports/sandbox.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

export interface AttackGround {
  readonly secret: string;
  /** Replaces `{{OUT}}`, `{{PORT}}`, `{{PPID}}` and `{{DECOY}}`. */
  fill(code: string): string;
  /** The files of a cell, by the agent's own workspace. */
  readonly files: Pick<CellBridge, "listFiles" | "readFile" | "saveFiles">;
  /** What happened outside since the last call, in words. */
  findHarm(): readonly string[];
  close(): Promise<void>;
}

export async function openAttackGround(): Promise<AttackGround> {
  const root = mkdtempSync(join(tmpdir(), "goald-attack-"));
  const secret = `secret-${randomUUID()}`;
  const [folder, outside] = [join(root, "ws"), join(root, "outside")];
  plantOutside(outside, secret);
  plantFolder(folder, outside);
  const before = describeFolder(outside);
  let connections = 0;
  const listen = async (server: Server, ...at: readonly unknown[]): Promise<Server> => {
    server.on("connection", (socket) => {
      connections += 1;
      socket.on("error", () => undefined);
      socket.end(`HTTP/1.0 200 OK\r\n\r\n${secret}`, () => socket.destroy());
    });
    await new Promise<void>((resolve) => Reflect.apply(server.listen, server, [...at, () => resolve()]));
    return server;
  };
  const tcp = await listen(createServer(), 0, "127.0.0.1");
  // An abstract socket: reachable without a file.
  const abstract = await listen(createServer(), `\0goald-attack-${secret}`);
  const decoy: ChildProcess = spawn("sleep", ["3600"], { stdio: "ignore" });
  const { port } = tcp.address() as { readonly port: number };
  return {
    secret,
    fill: (code) =>
      code
        .replaceAll("{{OUT}}", outside)
        .replaceAll("{{PORT}}", `${port}`)
        .replaceAll("{{PPID}}", `${process.pid}`)
        .replaceAll("{{DECOY}}", `${decoy.pid}`),
    files: openFiles(folder),
    findHarm() {
      const harm = [
        ...(describeFolder(outside) === before ? [] : ["a file outside was changed"]),
        ...(connections > 0 ? ["something connected to this machine"] : []),
        ...(decoy.exitCode === null && decoy.signalCode === null ? [] : ["another process was killed"]),
        ...(existsSync(folder) ? [] : ["the agent's folder is gone"]),
        ...(Object.hasOwn(Object.prototype, "polluted") ? ["an object of the host was changed"] : []),
      ];
      connections = 0;
      return harm;
    },
    async close() {
      decoy.kill("SIGKILL");
      await Promise.all([tcp, abstract].map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(root, { recursive: true });
    },
  };
}

function plantOutside(outside: string, secret: string): void {
  mkdirSync(outside);
  writeFileSync(join(outside, ".env"), `KEY=${secret}`);
  writeFileSync(join(outside, "goald.db"), secret);
  writeFileSync(join(outside, "canary"), "canary");
}

function plantFolder(folder: string, outside: string): void {
  mkdirSync(folder);
  symlinkSync(join(outside, ".env"), join(folder, "planted"));
  symlinkSync(outside, join(folder, "planteddir"));
  symlinkSync(join(outside, "notyet"), join(folder, "dangling"));
  linkSync(join(outside, "goald.db"), join(folder, "hardlinked"));
  execFileSync("mkfifo", [join(folder, "afifo")]);
}

const describeFolder = (folder: string): string =>
  readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      return lstatSync(path).isFile() ? `${name} ${statSync(path).mode} ${readFileSync(path, "utf8")}` : name;
    })
    .join("\n");

/** At most so many files of a folder are listed. */
const MAX_LISTED = 10_000;

function openFiles(folder: string): AttackGround["files"] {
  const workspace = openLocalWorkspace(folder);
  const reply = async <T>(work: () => Promise<T>): Promise<CellReply<T>> => {
    try {
      return { value: await work() };
    } catch (error) {
      if (!isGoaldError(error)) throw error;
      return { error: { code: error.code, text: error.message } };
    }
  };
  return {
    async listFiles() {
      const files: CellFile[] = [];
      for await (const { path, bytes, modifiedAt } of workspace.list("")) {
        if (files.length === MAX_LISTED) return { files, isComplete: false };
        files.push({ path, bytes, stamp: modifiedAt });
      }
      return { files, isComplete: true };
    },
    readFile: (path) => reply(() => workspace.read(path)),
    saveFiles: (changes) =>
      reply(async () => {
        for (const { path, bytes } of changes)
          if (bytes) await workspace.write(path, bytes);
          else await workspace.remove(path);
        return null;
      }),
  };
}
