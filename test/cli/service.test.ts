import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { launchdService, type ServiceParts, systemdService } from "#cli/shared/service-file.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";

const unitFolder = ({ userHome }: Goald): string => join(userHome, ".config", "systemd", "user");
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const PARTS: ServiceParts = {
  home: { root: "/home/eva/goald", logFolder: "/home/eva/goald/.goald/log" },
  userHome: "/home/eva",
  configHome: undefined,
  node: "/opt/node/bin/node",
  program: "/opt/goald/src/goald.js",
};
const at = (root: string, more: Partial<ServiceParts> = {}): ServiceParts => ({
  ...PARTS,
  home: { root, logFolder: `${root}/.goald/log` },
  ...more,
});

/** Parses a line like systemd: quotes and backslashes (systemd.syntax), percent signs, then dollar signs. */
function wordsOf(text: string, key: string): readonly string[] {
  const line = new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? "";
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ""], place) => {
    const plain = word.replace(/\\(.)/g, "$1");
    expect(plain.replaceAll("%%", "")).not.toContain("%");
    const expanded = plain.replaceAll("%%", "%");
    if (key !== "ExecStart" || place === 0) return expanded;
    expect(expanded.replaceAll("$$", "")).not.toContain("$");
    return expanded.replaceAll("$$", "$");
  });
}

describe("the systemd unit", () => {
  it("starts the daemon in the foreground by absolute paths, with time to finish its steps", () => {
    const { name, path, text, enable } = systemdService(PARTS);
    expect([name, path]).toEqual(["goald", "/home/eva/.config/systemd/user/goald.service"]);
    expect(wordsOf(text, "ExecStart")).toEqual([
      "/opt/node/bin/node",
      "/opt/goald/src/goald.js",
      "up",
      "--foreground",
      "--home",
      "/home/eva/goald",
    ]);
    expect(wordsOf(text, "ReadWritePaths")[0]).toBe("/home/eva/goald");
    for (const line of [
      "Type=exec",
      "Restart=on-failure",
      "TimeoutStopSec=45",
      "KillMode=mixed",
      "NoNewPrivileges=yes",
      "ProtectSystem=strict",
      "WantedBy=default.target",
    ])
      expect(text.split("\n")).toContain(line);
    expect(enable).toEqual(["systemctl --user daemon-reload", "systemctl --user enable --now goald"]);
  });

  it.each([
    ["/srv/my home"],
    ["/srv/100%h"],
    ["/srv/$HOME/$$x"],
    ['/srv/a"b'],
    ["/srv/it's"],
    ["/srv/back\\slash\\x41"],
    ["/srv/漢字"],
  ])("preserves the path of the home %j", (root) => {
    const odd = { node: `${root}/node`, program: `${root}/goald.js` };
    const { text } = systemdService(at(root, odd));
    expect(wordsOf(text, "ExecStart")).toEqual([odd.node, odd.program, "up", "--foreground", "--home", root]);
    expect(wordsOf(text, "ReadWritePaths")[0]).toBe(root);
    expect(text).toContain(`(${root.replaceAll("%", "%%")})`);
  });

  it("has its own name for each home except the default one", () => {
    const names = ["/srv/goald", "/srv/My Home!", "/srv/my-home", "/", "/home/eva/goald"].map(
      (root) => systemdService(at(root)).name,
    );
    expect(new Set(names).size).toBe(5);
    for (const name of names) expect(name).toMatch(/^goald(-[a-z0-9]+)*$/);
    expect(systemdService(at("/srv/goald")).name).toBe(names[0]);
  });
});

describe("the launchd agent", () => {
  it("starts the daemon with the session, restarts it after a failure, and not after a stop", () => {
    const { name, path, text, enable, disable } = launchdService(PARTS);
    expect([name, path]).toEqual(["goald", "/home/eva/Library/LaunchAgents/goald.plist"]);
    expect(stringsOf(text)).toEqual([
      "goald",
      "/opt/node/bin/node",
      "/opt/goald/src/goald.js",
      "up",
      "--foreground",
      "--home",
      "/home/eva/goald",
      "Background",
      "/",
      "/home/eva/goald/.goald/log/daemon.out",
      "/home/eva/goald/.goald/log/daemon.out",
    ]);
    expect(text).toMatch(/<key>SuccessfulExit<\/key>\s*<false\/>/);
    expect(enable).toEqual([`launchctl bootstrap gui/$(id -u) '${path}'`]);
    expect(disable).toEqual(["launchctl bootout gui/$(id -u)/goald"]);
  });

  it("preserves an unusual path of the home", () => {
    const root = '/Users/e k/<R&D> "it\'s" ]]>';
    expect(stringsOf(launchdService(at(root)).text)).toContain(root);
  });
});

function stringsOf(xml: string): readonly string[] {
  return [...xml.matchAll(/<string>([^<>]*)<\/string>/g)].map(([, text = ""]) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
  );
}

describe("goald install-service", () => {
  it("prints what it would write, and writes nothing", async () => {
    await using goald = await makeGoald();
    const { stdout } = endedWith(0, await goald.ask(["install-service", "--print"]));
    expect(wordsOf(stdout, "ExecStart")).toEqual([
      process.execPath,
      expect.stringMatching(/\/src\/goald\.js$/),
      "up",
      "--foreground",
      "--home",
      goald.home,
    ]);
    expect([await exists(unitFolder(goald)), await exists(goald.home)]).toEqual([false, false]);
    expect(JSON.parse(endedWith(0, await goald.ask(["install-service", "--print", "--json"])).stdout)).toMatchObject({
      kind: "systemd",
      text: stdout,
    });
  });

  it("writes the unit and the home, prints what to type, and runs nothing", async () => {
    await using goald = await makeGoald();
    const { stdout } = endedWith(0, await goald.ask(["install-service"]));
    const path = /^Wrote (.*)$/m.exec(stdout)?.[1] ?? "";
    const name = path.slice(unitFolder(goald).length + 1, -".service".length);
    expect(name).toMatch(/^goald-home-[0-9a-f]{8}$/);
    expect(stdout).toContain(`  systemctl --user daemon-reload\n  systemctl --user enable --now ${name}\n`);
    expect(stdout).toContain("loginctl enable-linger");
    expect(stdout).toContain(join(goald.home, ".env"));
    expect((await stat(path)).mode & 0o777).toBe(0o644);
    expect((await stat(join(goald.home, ".goald"))).mode & 0o777).toBe(0o700);
    expect(endedWith(0, await goald.ask(["install-service"])).stdout).toContain("is up to date.");
  });

  it("writes a unit that works: its command starts the daemon", async () => {
    await using goald = await makeGoald();
    await using daemon = daemonOf(goald);
    const { stdout } = endedWith(0, await goald.ask(["install-service", "--print"]));
    const words = wordsOf(stdout, "ExecStart");
    expect(words[0]).toBe(process.execPath);
    const unit = goald.start(words.slice(2), { binary: words[1] as string, env: { GOALD_HOME: undefined }, cwd: "/" });
    await unit.see("The daemon is ready");
    expect(daemon.isHeld()).toBe(true);
    // Enabling the unit beside a running daemon would make two compete for the lock.
    expect(endedWith(0, await goald.ask(["install-service"])).stdout).toContain("  goald down\n  systemctl");
    unit.kill("SIGTERM");
    endedWith(0, await unit.ended);
  });

  it("replaces a modified unit only with --force (exit 7 without it)", async () => {
    await using goald = await makeGoald();
    const { path } = JSON.parse((await goald.ask(["install-service", "--json"])).stdout) as { path: string };
    const written = await readFile(path, "utf8");
    await writeFile(path, `${written}# mine\n`);
    const refused = errorOf(endedWith(7, await goald.ask(["install-service", "--json"])));
    expect(refused).toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("--force") });
    expect(await readFile(path, "utf8")).toContain("# mine");
    endedWith(0, await goald.ask(["install-service", "--force"]));
    expect(await readFile(path, "utf8")).toBe(written);
  });

  it("removes the unit and the link of systemctl, and finds nothing the second time (exit 3)", async () => {
    await using goald = await makeGoald();
    const { path } = JSON.parse((await goald.ask(["install-service", "--json"])).stdout) as { path: string };
    const link = join(dirname(path), "default.target.wants", path.slice(dirname(path).length + 1));
    await mkdir(dirname(link));
    await symlink(path, link);
    const { stdout } = endedWith(0, await goald.ask(["install-service", "--uninstall"]));
    expect(stdout).toContain("systemctl --user stop goald-home-");
    expect(await exists(path)).toBe(false);
    await expect(readFile(link)).rejects.toMatchObject({ code: "ENOENT" });
    expect(errorOf(endedWith(3, await goald.ask(["install-service", "--uninstall", "--json"]))).code).toBe(
      "GOALD_NOT_FOUND",
    );
  });
});
