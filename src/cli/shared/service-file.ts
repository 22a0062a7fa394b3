/**
 * service-file.ts -- the daemon as a service of the person's session: a systemd user unit or a launchd agent.
 *
 * It only makes texts: `--print` shows exactly what would be written. Paths are absolute, since service managers have
 * no shell PATH and no version manager. The home is given by `--home`, since they have no shell environment.
 */
import { hash } from "node:crypto";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Home } from "#config/home.ts";

export interface Service {
  /** Name for the service manager. */
  readonly name: string;
  readonly kind: "systemd" | "launchd";
  /** Absolute path of the file. */
  readonly path: string;
  readonly text: string;
  /** Shell commands that start and stop the service. */
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

export interface ServiceParts {
  readonly home: Pick<Home, "root" | "logFolder">;
  readonly userHome: string;
  /** XDG_CONFIG_HOME, when it is set and absolute. */
  readonly configHome: string | undefined;
  /** Absolute path of Node; `program` is the path of goald.js. */
  readonly node: string;
  readonly program: string;
}

export function systemdService(parts: ServiceParts): Service {
  const name = nameOf(parts);
  const { node, program, home, userHome, configHome } = parts;
  const command = [program, "up", "--foreground", "--home", home.root].map(quoteArgument);
  const text = `# Written by goald install-service.
[Unit]
Description=${escapePercent(`goald, the goal daemon (${home.root})`)}

[Service]
Type=exec
ExecStart=${quote(node)} ${command.join(" ")}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
# A mistake in the settings, or a home that another goald runs: trying again would not help.
RestartPreventExitStatus=2 7
# The first signal finishes the steps under way; children go with the daemon.
TimeoutStopSec=45
KillMode=mixed
WorkingDirectory=/
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths=${[home.root, tmpdir()].map(quote).join(" ")}

[Install]
WantedBy=default.target
`;
  return {
    name,
    kind: "systemd",
    path: join(configHome ?? join(userHome, ".config"), "systemd", "user", `${name}.service`),
    text,
    enable: ["systemctl --user daemon-reload", `systemctl --user enable --now ${name}`],
    disable: [`systemctl --user stop ${name}`, "systemctl --user daemon-reload"],
  };
}

/** Quotes with C escapes (systemd.syntax(7)). An unescaped percent sign would start a specifier. */
const quote = (text: string): string =>
  `"${escapePercent(text)
    .replace(/[\\"]/g, "\\$&")
    .replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`)}"`;

/** A dollar sign starts a variable in arguments, but not in the program path. */
const quoteArgument = (text: string): string => quote(text).replaceAll("$", "$$$$");

const escapePercent = (text: string): string => text.replaceAll("%", "%%");

export function launchdService(parts: ServiceParts): Service {
  const name = nameOf(parts);
  const { node, program, home, userHome } = parts;
  const output = join(home.logFolder, "daemon.out");
  const path = join(userHome, "Library", "LaunchAgents", `${name}.plist`);
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by goald install-service. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${stringElement(name)}
  <key>ProgramArguments</key>
  <array>
${[node, program, "up", "--foreground", "--home", home.root].map((word) => `    ${stringElement(word)}\n`).join("")}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>ExitTimeOut</key>
  <integer>45</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>WorkingDirectory</key>
  <string>/</string>
  <key>StandardOutPath</key>
  ${stringElement(output)}
  <key>StandardErrorPath</key>
  ${stringElement(output)}
</dict>
</plist>
`;
  const quoted = `'${path.replaceAll("'", `'\\''`)}'`;
  return {
    name,
    kind: "launchd",
    path,
    text,
    enable: [`launchctl bootstrap gui/$(id -u) ${quoted}`],
    disable: [`launchctl bootout gui/$(id -u)/${name}`],
  };
}

const stringElement = (text: string): string =>
  `<string>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}</string>`;

/** Returns `goald` for the default home, and a stable unique name for any other. */
function nameOf({ home: { root }, userHome }: ServiceParts): string {
  if (root === join(userHome, "goald")) return "goald";
  const slug = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40);
  return ["goald", slug, hash("sha256", root, "hex").slice(0, 8)].filter((part) => part !== "").join("-");
}
