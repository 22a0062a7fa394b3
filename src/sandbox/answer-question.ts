/** answer-question.ts -- answers what code asks for, by the host of its cell. */
import type { CellFileChange, CellHost, CellReply } from "#core/ports/sandbox.ts";
import { MAX_FILE_BYTES, type Question, type Reply } from "./protocol.ts";

export interface Answer {
  readonly reply: Reply;
  readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array();

/** Rejects with what the method of `host` rejected with. `bytes`: those of the question. */
export async function answerQuestion(question: Question, bytes: Uint8Array, host: CellHost): Promise<Answer> {
  switch (question.what) {
    case "call":
      return sendReply(await host.call(question.name, question.args));
    case "run":
      return sendReply(await host.run(question.task, question.returns, question.form));
    case "list":
      return sendReply({ value: await host.listFiles() });
    case "read":
      return sendContent(await host.readFile(question.path));
    case "save":
      return sendReply(await host.saveFiles(splitContents(question.files, bytes)));
  }
}

const sendReply = (reply: CellReply<unknown>): Answer => ({ reply: { type: "reply", ...reply }, bytes: NOTHING });

function sendContent(reply: CellReply<Uint8Array>): Answer {
  if ("error" in reply) return sendReply(reply);
  const { value } = reply;
  if (value.byteLength <= MAX_FILE_BYTES) return { reply: { type: "reply", value: null }, bytes: value };
  const text = `Code can read files of up to ${MAX_FILE_BYTES / 1024 / 1024} MB.`;
  return sendReply({ error: { code: "file-too-large", text } });
}

type SavedFiles = Extract<Question, { readonly what: "save" }>["files"];
function splitContents(files: SavedFiles, bytes: Uint8Array): readonly CellFileChange[] {
  let start = 0;
  return files.map(({ path, bytes: length }) => {
    if (length === null) return { path, bytes: null };
    start += length;
    return { path, bytes: bytes.subarray(start - length, start) };
  });
}
