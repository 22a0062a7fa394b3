/**
 * record-cells.ts -- records cells of code at the sandbox: what the code asked its host for, and how it ended. The host
 * gets what is recorded: secrets are removed from a question before it is answered, so that a replay asks the same.
 */
import type { Cell, CellBridge, CellFileChange, CellOutcome, Sandbox } from "#core/ports/sandbox.ts";
import { type Redact, redactJson } from "#util/redact.ts";
import { decodeBody, encodeBody } from "./folder.ts";
import { type CellAsk, type CellAskLine, type CellEndLine, ofType, type Session } from "./format.ts";

type Value = <T>(name: string, compute: () => T) => T;
interface CellRecording {
  readonly redact: Redact;
  write(line: CellAskLine | CellEndLine): void;
  readonly value: Value;
}

const LEVEL = "level of the sandbox";

export function recordSandbox(sandbox: Sandbox, { redact, write, value }: CellRecording): Sandbox {
  return {
    run: async (cell, host, signal) => {
      const { version } = cell;
      const note = (ask: CellAsk): void => write({ type: "cell-ask", version, ask });
      const outcome = redactJson<CellOutcome>(await sandbox.run(cell, listenTo(host, note, redact), signal), redact);
      write({ type: "cell-end", version, outcome });
      return outcome;
    },
    find: async () => {
      const finding = await sandbox.find();
      return value(LEVEL, () => finding);
    },
    close: () => sandbox.close(),
    get isCrowded() {
      return sandbox.isCrowded;
    },
  };
}

/** Plays recorded cells without any process. `fail` ends the replay with a difference. */
export function playSandbox(session: Pick<Session, "lines">, fail: (what: string) => never, value: Value): Sandbox {
  return {
    run: playCells([...ofType(session, "cell-ask"), ...ofType(session, "cell-end")], fail),
    find: async () => value(LEVEL, () => ({ level: "degraded", reason: "" })),
    close: async () => undefined,
    isCrowded: false,
  };
}

function listenTo(host: CellBridge, note: (ask: CellAsk) => void, redact: Redact): CellBridge {
  const noted = <A extends CellAsk>(ask: A): A => {
    const kept = redactJson(ask, redact);
    note(kept);
    return kept;
  };
  const encodeChange = ({ path, bytes }: CellFileChange) => ({
    path: redact(path),
    content: bytes && encodeBody(bytes, redact),
  });
  return {
    call: (name, args) => askHost(noted({ what: "call", name, args }), host),
    run: (task, returns, form) => askHost(noted({ what: "run", task, returns, form }), host),
    listFiles: () => askHost(noted({ what: "list" }), host),
    readFile: (path) => askHost(noted({ what: "read", path }), host),
    saveFiles: (changes) => {
      const ask = { what: "save", changes: changes.map(encodeChange) } as const;
      note(ask);
      return askHost(ask, host);
    },
    show: host.show,
  };
}

type Answer = {
  readonly call: ReturnType<CellBridge["call"]>;
  readonly run: ReturnType<CellBridge["run"]>;
  readonly list: ReturnType<CellBridge["listFiles"]>;
  readonly read: ReturnType<CellBridge["readFile"]>;
  readonly save: ReturnType<CellBridge["saveFiles"]>;
};

function askHost<A extends CellAsk>(ask: A, host: CellBridge): Answer[A["what"]];
function askHost(ask: CellAsk, host: CellBridge): Promise<unknown> {
  switch (ask.what) {
    case "call":
      return host.call(ask.name, ask.args);
    case "run":
      return host.run(ask.task, ask.returns, ask.form);
    case "list":
      return host.listFiles();
    case "read":
      return host.readFile(ask.path);
    case "save":
      return host.saveFiles(ask.changes.map(({ path, content }) => ({ path, bytes: content && decodeBody(content) })));
  }
}

/** Each cell asks its host the same as the recorded one, in order. Its end is its last line. */
function playCells(lines: readonly (CellAskLine | CellEndLine)[], fail: (what: string) => never): Sandbox["run"] {
  const left = Map.groupBy(lines, ({ version }) => version);
  return async ({ version, name }: Cell, host) => {
    for (;;) {
      const line = left.get(version)?.shift();
      if (!line) return fail(`the code of ${name} goes on, and the recording of it ends`);
      if (line.type === "cell-end") return line.outcome as CellOutcome;
      await askHost(line.ask, host);
    }
  };
}
