/**
 * demo-script.ts -- plays what the model, the web and code answer in the demo, from a script. A reply may name texts
 * that its request must show, so that a script that no longer fits the agent fails.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel } from "#core/ports/model.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { Http } from "#http/http.ts";
import type { CellAskLine, CellEndLine } from "./format.ts";
import { playSandbox } from "./record-cells.ts";

interface DemoScript {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Texts of the files in the agent's folder before it starts, by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly replies: readonly {
    /** Texts that the request must contain. */
    readonly shown?: readonly string[];
    readonly text: string;
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly cachedTokens: number };
  }[];
  /** Pages and search answers by address, without a query. */
  readonly web: Readonly<Record<string, { readonly type: string; readonly body: string }>>;
  /** The questions of code to its host, and its ends. When there are none, code runs in the sandbox of this machine. */
  readonly cells: readonly (CellAskLine | CellEndLine)[];
}

/** The parts of a host that reach outside, played. */
export interface HostEdges {
  readonly model: LanguageModel;
  readonly http: Http;
  readonly sandbox?: Sandbox;
}

export const readDemoScript = (path: string): DemoScript => JSON.parse(readFileSync(path, "utf8")) as DemoScript;

/** `isPaced`: replies come at a speed at which a person can follow the work. */
export function openEdges({ replies, web, cells }: DemoScript, isPaced = false): HostEdges {
  const value = <T>(_name: string, compute: () => T): T => compute();
  return {
    model: playReplies(replies, isPaced ? PACE_MS : 0),
    http: playWeb(web),
    ...(cells.length > 0 ? { sandbox: playSandbox({ lines: cells }, fail, value) } : {}),
  };
}

const PIECE_CHARS = 40;
const PACE_MS = 100;
/** Pieces whose time passes before the first one. */
const THINKING_PIECES = 6;

function playReplies(replies: DemoScript["replies"], paceMs: number): LanguageModel {
  const ahead = [...replies];
  const refuse = (message: string) => ({ kind: "failed", code: "demo-script", message, retry: null }) as const;
  return {
    async complete({ messages }, signal, onText) {
      signal.throwIfAborted();
      const reply = ahead.shift();
      if (!reply) return refuse("The script of the demo ends before this request.");
      const { shown = [], text, usage } = reply;
      const missing = shown.filter((one) => !messages.some(({ content }) => content.includes(one)));
      if (missing.length > 0)
        return refuse(`The script of the demo does not fit: the request does not show ${JSON.stringify(missing)}.`);
      const letters = [...text];
      const rest = (pieces: number) => (paceMs > 0 ? sleep(pieces * paceMs, undefined, { signal }) : undefined);
      await rest(THINKING_PIECES);
      for (let at = 0; at < letters.length; at += PIECE_CHARS) {
        onText?.(letters.slice(at, at + PIECE_CHARS).join(""));
        await rest(1);
      }
      return { kind: "replied", text, finishReason: "stop", usage: { ...usage, estimated: false } };
    },
    terms: async () => ({ mode: "json_schema", contextTokens: null }),
  };
}

function playWeb(web: DemoScript["web"]): Http {
  const play = async (input: string | URL | Request): Promise<Response> => {
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    const { origin, pathname } = new URL(url);
    const page = web[`${origin}${pathname}`];
    const { type, body } = page ?? { type: "text/plain", body: `The script of the demo has no ${url}.` };
    const response = new Response(body, { status: page ? 200 : 404, headers: { "content-type": type } });
    return Object.defineProperty(response, "url", { value: url, configurable: true });
  };
  return { to: () => play, public: () => play };
}

function fail(what: string): never {
  throw new Error(`The script of the demo does not fit: ${what}.`);
}
