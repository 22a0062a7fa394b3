/** hostile-guest.child.ts -- a cell process that hostile code has taken over: it answers a cell with what the cell's code says. */
import { readSync, writeSync } from "node:fs";

const CHANNEL = 3;

function frame(json: string, bytes: Uint8Array = new Uint8Array()): Buffer {
  const text = Buffer.from(json);
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(text.length, 0);
  lengths.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([lengths, text, bytes]);
}
function write(bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(CHANNEL, bytes, written);
}
const send = (value: unknown, bytes?: Uint8Array): void => write(frame(JSON.stringify(value), bytes));
function read(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  for (let filled = 0; filled < count; ) {
    const got = readSync(CHANNEL, bytes, filled, count - filled, null);
    if (got === 0) process.exit(0);
    filled += got;
  }
  return bytes;
}
function receive(): { readonly type: string; readonly cell?: { readonly code: string } } {
  const head = read(8);
  const json = read(head.readUInt32LE(0));
  read(head.readUInt32LE(4));
  return JSON.parse(json.toString("utf8"));
}

const done = (more: object = {}): object => ({
  type: "done",
  outcome: {
    kind: "done",
    output: "",
    isCut: false,
    saved: { definitions: [], values: {} },
    lost: [],
    value: null,
    stop: null,
    durationMs: 1,
    ...more,
  },
});
const save = (files: unknown, bytes = 0): void => {
  send({ type: "ask", what: "save", files }, Buffer.alloc(bytes));
  receive();
};
const ask = (question: object): void => {
  send({ type: "ask", ...question });
  receive();
};

/** Sends what is not a message. */
export const NO_MESSAGES: Readonly<Record<string, () => void>> = {
  "a length of 4 GB": () => write(Buffer.from([255, 255, 255, 255, 255, 255, 255, 255])),
  "JSON of 20 MB": () => send(done({ output: "x".repeat(20_000_000) })),
  "no JSON": () => write(frame("nonsense")),
  "a number": () => send(7),
  "another type": () => send({ type: "root" }),
  "ready again": () => send({ type: "ready" }),
  "loaded without a namespace": () => send({ type: "loaded" }),
  "ended twice": () => {
    send({ type: "ended" });
    send({ type: "ended" });
  },
  "an outcome without fields": () => send({ type: "done", outcome: {} }),
  "an outcome of another kind": () => send(done({ kind: "root" })),
  "values that are no texts": () => send(done({ saved: { definitions: [], values: { x: 1 } } })),
  "definitions that are no pairs": () => send(done({ saved: { definitions: ["x"], values: {} } })),
  "a namespace of 12 MB": () => send(done({ saved: { definitions: [], values: { x: "x".repeat(12_000_000) } } })),
  "30,000 names": () =>
    send(
      done({
        saved: { definitions: [], values: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`n${i}`, ""])) },
      }),
    ),
  "a call without arguments": () => ask({ what: "call", name: "echo" }),
  "a question of 3 MB": () => ask({ what: "call", name: "echo", args: { text: "x".repeat(3_000_000) } }),
  "a call with a list": () => ask({ what: "call", name: "echo", args: [] }),
  "arguments 100 levels deep": () => {
    let args: object = {};
    for (let level = 0; level < 100; level++) args = { args };
    ask({ what: "call", name: "echo", args });
  },
  "a task that is no text": () => ask({ what: "run", task: 7, returns: {}, form: null }),
  "a file without a path": () => save([{ path: "", bytes: 0 }]),
  "a negative length": () =>
    save([
      { path: "a", bytes: -1 },
      { path: "b", bytes: 1 },
    ]),
  "lengths that do not add up": () => save([{ path: "a", bytes: 10 }], 5),
  "a length that is no whole number": () =>
    save(
      [
        { path: "a", bytes: 0.5 },
        { path: "b", bytes: 0.5 },
      ],
      1,
    ),
  "20,000 files": () => save(Array.from({ length: 20_000 }, (_, number) => ({ path: `f${number}`, bytes: 0 }))),
  "a question of another kind": () => ask({ what: "exec" }),
  "30,000 questions": () => {
    for (let count = 0; count < 30_000; count++) ask({ what: "list" });
  },
};

const ACTS: Readonly<Record<string, () => void>> = {
  ...NO_MESSAGES,
  well: () => send(done()),
  "half a frame": () => write(frame("{}").subarray(0, 5)),
  "two outcomes": () => write(Buffer.concat([frame(JSON.stringify(done())), frame(JSON.stringify(done()))])),
  "an outcome instead of waiting for a reply": () => {
    send({ type: "ask", what: "list" });
    send(done());
  },
  "its own end": () => process.exit(7),
  silence: () => undefined,
  "silence after the end of the code": () => send({ type: "ended" }),
  "control characters": () =>
    send(
      done({
        kind: "failed",
        output: "a\u001b[31mb",
        lost: [{ name: "x\u202e", reason: "\u001b]0;t\u0007r" }],
        problem: {
          kind: "root",
          type: "E\u001b[2J",
          message: "m\u009b",
          line: -1,
          source: "s\u0000",
          missingName: "n\u001b",
        },
      }),
    ),
  "a value that is too deep": () => {
    let json: unknown = [];
    for (let level = 0; level < 100; level++) json = [json];
    send(done({ value: { text: "deep", json }, stop: { value: json } }));
  },
  "names of prototypes": () =>
    write(
      frame(
        '{"type":"done","outcome":{"kind":"done","output":"","lost":[],"stop":null,"value":{"text":"x","json":{"__proto__":{"polluted":1}}},"saved":{"definitions":[["__proto__","1"]],"values":{"__proto__":"1"}}}}',
      ),
    ),
};

if (import.meta.main) {
  send({ type: "ready" });
  for (;;) {
    const { cell } = receive();
    if (cell) (ACTS[cell.code] ?? (() => undefined))();
  }
}
