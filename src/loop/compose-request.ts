/** compose-request.ts -- composes the messages of one request: looks at the folder, recalls, builds the prompt that fits. */
import { isGoaldError } from "#core/errors.ts";
import type { OutputMode } from "#core/event.ts";
import { SHARED_MEMORY, sourcesOfRecall } from "#core/memory.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { CountTokens, LongTermMemory } from "#core/ports/memory.ts";
import type { ModelTerms } from "#core/ports/model.ts";
import type { FolderSight } from "#core/ports/workspace.ts";
import { addSources, type OutsideSource } from "#core/provenance.ts";
import { type AgentState, activeFrame, formOfFrame } from "#core/state.ts";
import { buildPrompt, type Prompt } from "#prompt/build.ts";
import { describeFolder } from "#prompt/situation.ts";
import { askedMessages, outerMessages } from "#prompt/subtask.ts";
import type { CommandOffer } from "#prompt/system.ts";
import { shownTurns } from "#prompt/turns.ts";
import type { Words } from "#prompt/words.ts";
import type { CommandsFor } from "./command-set.ts";
import { describeWork } from "./recall-query.ts";
import type { Room } from "./reply-cap.ts";
import { chooseMode, formOf } from "./reply-forms.ts";

export interface ComposeParts {
  readonly agentId: string;
  readonly memory: LongTermMemory;
  readonly recallCount: number;
  /** Default: the prompt shows no files. */
  lookAtFolder?(): Promise<FolderSight>;
  /** Further namespaces to recall from. Default: the shared memory. */
  readonly others?: readonly string[];
  readonly commandsFor: CommandsFor;
  readonly words: Words;
  readonly clock: Clock;
  /** Aborted when the host shuts down at once. */
  readonly signal: AbortSignal;
}

type PayingParts = ComposeParts & { readonly countTokens: CountTokens };

/** Uses a schema only when its tokens fit into the context window. Tools are the commands: without them there are none. */
export async function composeRequest(
  step: number,
  state: AgentState,
  parts: PayingParts,
  room: Room,
  terms: ModelTerms | undefined,
) {
  const sight = { step, folder: await parts.lookAtFolder?.() };
  const commands = parts.commandsFor(state);
  const mode = chooseMode(formOfFrame(state), terms, commands);
  const attached = formOf(mode).attach(commands, mode);
  const { replySchema, tools } = commands.formatChars;
  const formatChars = (attached.replySchema ? replySchema : 0) + (attached.tools ? tools : 0);
  const formatTokens = Math.ceil(formatChars / CHARS_PER_TOKEN);
  const less = { ...room, contextTokens: room.contextTokens - formatTokens };
  const prompt = await composePrompt(state, parts, less, sight, mode);
  if (mode !== "json_schema" || !("tooLong" in prompt)) return { prompt, mode, attached, formatTokens };
  const bare = await composePrompt(state, parts, room, sight, "json_object");
  return { prompt: bare, mode: "json_object" as const, attached: {}, formatTokens: 0 };
}

interface Sight {
  readonly step: number;
  readonly folder: FolderSight | undefined;
}

/** For JSON that is mostly names and brackets. */
const CHARS_PER_TOKEN = 4;

/** Steps of the messages and memories of turns in the prompt are never recalled. */
async function composePrompt(
  state: AgentState,
  parts: PayingParts,
  { contextTokens, replyTokens }: Room,
  sight: Sight,
  mode: OutputMode,
): Promise<
  (Prompt & { readonly outside: readonly OutsideSource[]; readonly folder: string }) | { readonly tooLong: string }
> {
  const messages = [...outerMessages(state), ...askedMessages(state), ...activeFrame(state).window];
  const shown = [...shownTurns(state, parts.words, contextTokens), ...messages];
  const recalls = await parts.memory.recall(
    {
      agent: parts.agentId,
      others: parts.others ?? [SHARED_MEMORY],
      ...describeWork(state),
      count: parts.recallCount,
      excludeSteps: new Set(shown.map(({ step }) => step)),
      countTokens: parts.countTokens,
    },
    parts.signal,
  );
  const { words, commandsFor } = parts;
  const offer: CommandOffer = commandsFor(state);
  try {
    const now = parts.clock.now();
    const folder = sight.folder ? describeFolder(sight.folder, now) : "";
    const { words: form } = formOf(mode);
    const known = { ...offer, state, form, recalls, words, step: sight.step, folder };
    const prompt = buildPrompt({ ...known, contextTokens, replyTokens, now });
    const sources = prompt.recalledRows.flatMap((row) => sourcesOfRecall(row, parts.agentId, state.trustedSeq));
    return { ...prompt, outside: addSources([], sources), folder };
  } catch (error) {
    if (isGoaldError(error, "GOALD_PROMPT_TOO_LONG"))
      return { tooLong: error.hint ? `${error.message} ${error.hint}` : error.message };
    throw error;
  }
}
