/**
 * doctor.ts -- `goald doctor`: checks everything that goald needs and explains what to fix. Checks are independent, so
 * that one failure hides no other. It shows no keys, and uses the network only with `--online`.
 */
import { statfs } from "node:fs/promises";
import { findServiceStates, loadWholeCatalogue } from "#app/catalogue.ts";
import { measureStore } from "#app/reading.ts";
import { describeSandbox, findSandboxLevel, sandboxInWords } from "#app/sandbox.ts";
import { listModels } from "#app/services.ts";
import { findCage } from "#cage/find-cage.ts";
import { paint, printNote, type Style } from "#cli/terminal/print.ts";
import type { Home } from "#config/home.ts";
import { type LoadedSettings, loadSettings } from "#config/load-settings.ts";
import { DEFAULT_BASE_URL, hasServer, type SettingName } from "#config/settings.ts";
import { EXIT, isGoaldError, toError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { createRedactor } from "#util/redact.ts";
import { readVersion } from "../../shipped.ts";
import { callsHere, findContext, formatCall, isClosed, type Output } from "../context.ts";
import { checkDaemon, checkHome, type Finding, failure, fine, problem, warning } from "../doctor-home.ts";
import { defineVerb, flag } from "../verb.ts";

export const verb = defineVerb({
  description: "check everything that goald needs, and explain what to fix",
  examples: ["goald doctor", "goald doctor --fix", "goald doctor --online", "goald doctor --json"],
  options: {
    fix: flag("--fix", "repair permissions, and remove the socket of a killed daemon"),
    online: flag("--online", "ask the model server for its models, too: checks address and key, costs nothing"),
  },
  exitCodes: { error: "something is wrong" },
  run: async (_args, options) => {
    using context = await findContext({ ...options, judges: false });
    const { home, output } = context;
    const look = async () => [...(await examine(home)), ...(options.online ? await checkOnline(home) : [])];
    let findings = await look();
    const repaired: Finding[] = [];
    if (options.fix) {
      for (const finding of findings) if (await repair(finding, output)) repaired.push(finding);
      if (repaired.length > 0) findings = await look();
    }
    show(home, findings, repaired, output);
    return findings.some(({ level }) => level === "error") ? EXIT.error : EXIT.ok;
  },
});

const GIBIBYTE = 1024 ** 3;
const LITTLE_DISK_BYTES = GIBIBYTE;
const NO_DISK_BYTES = 0.05 * GIBIBYTE;
const FEW_FILES = 1_000;
/** Tolerance for two processes that write the log at the same time. */
const CLOCK_SLACK_MS = 60_000;
/** goald wrote no logs before this date. */
const EARLIEST = Date.parse("2026-01-01T00:00:00Z");

async function examine(home: Home): Promise<readonly Finding[]> {
  const ofHome = await checkHome(home, process.getuid?.());
  // Commands are programs, so their permissions are checked before they are loaded.
  const isSafe = ofHome.every(({ level }) => level === "ok");
  const isOpen = !(await isClosed(home.privateFolder));
  return [
    fine("goald", `${readVersion()} on Node ${process.versions.node} (${process.execPath})`),
    ...ofHome,
    ...(isOpen ? await checkDaemon(home) : [notOurs(home)]),
    ...(await checkSettings(home)),
    ...(isSafe ? [await checkCatalogue(home)] : []),
    ...(isOpen ? await checkStore(home) : []),
    ...(await checkDisk(home)),
    await checkCage(),
  ];
}

const notOurs = ({ privateFolder }: Home): Finding =>
  problem(
    "permissions",
    `${privateFolder} belongs to another user, or you may not read it: daemon and store cannot be checked`,
    "Run goald as the owner of this home, or name another home with --home.",
  );

async function repair(finding: Finding, output: Output): Promise<boolean> {
  if (!finding.repair) return false;
  try {
    await finding.repair();
    return true;
  } catch (thrown) {
    printNote(`goald: ${finding.text}: could not be repaired: ${toError(thrown).message}`);
    if (isGoaldError(thrown) && thrown.hint) output.say(clean(thrown.hint));
    return false;
  }
}

async function checkSettings(home: Home): Promise<readonly Finding[]> {
  try {
    const loaded = await loadSettings({ home, env: process.env });
    const redact = createRedactor(loaded.secrets);
    return [
      fine("settings", "can be read"),
      ...loaded.notes.map((note) => warning("settings", redact(note), "")),
      checkModel(loaded, home),
      await checkSandbox(loaded),
    ];
  } catch (thrown) {
    const found = failure("settings", thrown);
    return found.text.split("\n").map((text) => ({ ...found, text }));
  }
}

/** Agents cannot run while a command, prompt or price of the home is invalid. */
async function checkCatalogue(home: Home): Promise<Finding> {
  try {
    const { registry, modules } = await loadWholeCatalogue(home);
    const broken = modules.flatMap(({ path, brokenLine }) => (brokenLine === null ? [] : [`${path}:${brokenLine}`]));
    if (broken.length > 0) return warning("commands", `cannot read ${broken.join(", ")}`, "Correct the definition.");
    const methods = modules.reduce((sum, { functions }) => sum + functions.length, 0);
    const helpers = methods === 0 ? "" : `, ${countNoun(methods, "Python helper")}`;
    const shown = registry.all.filter(({ isInternal }) => isInternal !== true);
    return fine("commands", `${countNoun(shown.length, "command")}${helpers}, prompts and prices can be read`);
  } catch (thrown) {
    return failure("commands", thrown);
  }
}

function checkModel({ settings, originOf }: LoadedSettings, { envFile }: Home): Finding {
  const { apiKey, baseUrl } = settings.openai;
  const key = originOf("openai.apiKey");
  const place = key.file || (key.layer === "environment" ? "environment of this shell" : key.layer);
  const server = URL.parse(baseUrl)?.origin ?? "";
  if (apiKey !== null) {
    const text = `a key is set for ${server} (${key.name}, ${place})`;
    if (key.layer !== "environment") return fine("model", text);
    return warning(
      "model",
      text,
      `A daemon that is started elsewhere does not have this variable. Put the key into ${envFile}`,
    );
  }
  if (baseUrl !== DEFAULT_BASE_URL) return fine("model", `${server}, without a key`);
  return problem(
    "model",
    "no key and no model server are set",
    `Put OPENAI_API_KEY=… into ${envFile}, or OPENAI_BASE_URL=http://127.0.0.1:11434/v1 for your own server.`,
  );
}

async function checkStore(home: Home): Promise<readonly Finding[]> {
  try {
    const { agents, events, lastEventAt } = await measureStore(home);
    const sound = `${countNoun(agents, "agent")}, ${countNoun(events, "event")}; check all of them: ${formatCall(home, "verify")}`;
    return [fine("store", sound), ...checkClock(lastEventAt)];
  } catch (thrown) {
    return [failure("store", thrown), ...checkClock("")];
  }
}

/** A last event in the future means that the clock has been set back. */
function checkClock(lastEventAt: string): readonly Finding[] {
  const now = systemClock.now();
  const advice = "Set the clock of this machine: deadlines and waiting times depend on it.";
  if (now.getTime() < EARLIEST) return [problem("clock", `${now.toISOString()} is in the past`, advice)];
  if (lastEventAt !== "" && Date.parse(lastEventAt) > now.getTime() + CLOCK_SLACK_MS)
    return [warning("clock", `it is ${now.toISOString()}, but the last event was at ${lastEventAt}`, advice)];
  return [fine("clock", now.toISOString())];
}

/** Checks what code of agents needs. A cage that is not strict has a warning of its own. */
async function checkSandbox({ settings }: LoadedSettings): Promise<Finding> {
  const { cells } = await findServiceStates(settings);
  const words = sandboxInWords(describeSandbox(cells, await findSandboxLevel()));
  const isOff = settings.sandbox.isolation === "off";
  return (cells?.ready || isOff ? fine : warning)("sandbox", words, "");
}

async function checkCage(): Promise<Finding> {
  const { level, reason, advice } = await findCage();
  return (level === "strict" ? fine : warning)("cage", `${level}: ${reason}`, advice);
}

async function checkDisk({ root }: Home): Promise<readonly Finding[]> {
  const found = await statfs(root).catch(() => undefined);
  if (!found) return [];
  const freeBytes = found.bavail * found.bsize;
  const text = `${(freeBytes / GIBIBYTE).toFixed(1)} GB free at ${root}`;
  const advice = "Free some space on that disk. Agents stop when it is full, and lose nothing that is written.";
  if (freeBytes < NO_DISK_BYTES) return [problem("disk", text, advice)];
  if (freeBytes < LITTLE_DISK_BYTES) return [warning("disk", text, advice)];
  // Some file systems do not report the number of files.
  if (found.files > 0 && found.ffree < FEW_FILES)
    return [
      warning("disk", `only ${found.ffree} more files can be created at ${root}`, "Remove files that you do not need."),
    ];
  return [fine("disk", text)];
}

function show(home: Home, findings: readonly Finding[], repaired: readonly Finding[], output: Output): void {
  const count = (level: Finding["level"]): number => findings.filter((finding) => finding.level === level).length;
  const [errors, warnings] = [count("error"), count("warning")];
  // JSON leaves out `repair`, which is a function.
  if (output.printJson({ home: home.root, errors, warnings, findings, repaired })) return;
  for (const { text } of repaired) output.data(clean(`Repaired: ${text}`));
  const margin = " ".repeat(WIDTH + 3);
  const page = (text: string): void => output.page(text, { indentOf: () => margin.length });
  for (const { check, level, text, advice } of findings) {
    const said = `${check.padEnd(WIDTH)} ${callsHere(home, text).replaceAll("\n", " ")}`;
    page(`${paint(output.colour, STYLES[level], SIGNS[level])} ${clean(said)}`);
    if (advice) page(clean(`${margin}${callsHere(home, advice).replaceAll("\n", `\n${margin}`)}`));
  }
  const verdict =
    errors + warnings === 0
      ? "No problems found."
      : `${countNoun(errors, "error")}, ${countNoun(warnings, "warning")}.`;
  output.say(verdict);
}

const STYLES: Readonly<Record<Finding["level"], Style>> = { ok: "green", warning: "yellow", error: "red" };
const SIGNS: Readonly<Record<Finding["level"], string>> = { ok: "✓", warning: "!", error: "✗" };
const WIDTH = 12;

const TIMEOUT_MS = 10_000;

/**
 * Checks that the model server responds, accepts the key and offers the configured models. Returns nothing when
 * settings are unreadable or no server is set: other checks report these.
 */
async function checkOnline(home: Home): Promise<readonly Finding[]> {
  const loaded = await loadSettings({ home, env: process.env }).catch(() => undefined);
  if (!loaded || !hasServer(loaded.settings)) return [];
  const { baseUrl } = loaded.settings.openai;
  const server = URL.parse(baseUrl)?.origin ?? "";
  const listed = await listModels(home, loaded.settings, TIMEOUT_MS);
  if ("problem" in listed) return [problem("online", listed.problem, "")];
  if (!listed.hasList)
    return [
      warning(
        "online",
        `${server} answers, but lists no models`,
        "Does OPENAI_BASE_URL end in /v1? Some servers have none to list.",
      ),
    ];
  const offered = countNoun(listed.models.filter(({ isOffered }) => isOffered).length, "model");
  const missing = listed.models.flatMap(({ name, setFor, isOffered }) =>
    isOffered ? [] : setFor.filter((use) => use !== "embedding").map((use) => [name, `models.${use}`] as const),
  );
  if (missing.length === 0)
    return [fine("online", `${server} answers and has the models that are set, among ${offered}`)];
  return missing.map(([model, setting]) =>
    warning(
      "online",
      `${server} answers, but ${model} (${loaded.originOf(setting as SettingName).name}) is not among its ${offered}`,
      `List them: ${formatCall(home, "models")}`,
    ),
  );
}
