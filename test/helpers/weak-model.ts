/**
 * weak-model.ts -- a model that follows the words of its request to the letter and knows nothing else.
 *
 * It reads the shape of a reply and the list of commands from the prompt, or the tools from the request, and fills in
 * every value as its description says. A reply that the requested schema would not allow is an error: a grammar would
 * have forced the model away from its instructions.
 */
import { createAjv } from "#util/schema.ts";
import type { Answer, ChatRequest } from "./openai-answers.ts";

type Values = Readonly<Record<string, unknown>>;
const ajv = createAjv({ strict: false });

/** Answers with the command of that name. `isFull`: with its optional arguments too. `values` replace examples. */
export function answerWeakly(request: ChatRequest, name: string, isFull = true, values: Values = {}): Answer {
  return request.tools ? callTool(request, name, isFull, values) : answerInWords(request, name, isFull, values);
}

function answerInWords(
  { messages, response_format: format }: ChatRequest,
  name: string,
  isFull: boolean,
  values: Values,
) {
  const system = messages[0]?.content ?? "";
  const shape = JSON.parse(system.slice(system.indexOf("{\n"), system.lastIndexOf("\n}") + 2));
  const line = system.split("\n").find((each) => each.includes(`: "${name}", args:`));
  if (line === undefined) throw new Error(`The prompt has no command ${name}.`);
  const args = fillLine(/ args:(.*?) -- /.exec(line)?.[1] ?? "", isFull);
  const given = { ...args, ...values };
  const reply =
    "action" in shape ? { ...shape, action: name, args: given } : { ...shape, command: { name, args: given } };
  const schema = format?.json_schema?.schema;
  if (schema && !ajv.validate(schema, reply))
    throw new Error(`The grammar does not allow what the words show for ${name}: ${ajv.errorsText()}`);
  return JSON.stringify(reply);
}

/** Fills `"file": "<path>", optional "first_line": <from 1>`. */
function fillLine(list: string, isFull: boolean): Values {
  const [needed = "", optional = ""] = list.split(/(?:^|, | )optional (?=")/);
  const fill = (text: string): Values =>
    JSON.parse(
      `{${text.replace(/"<([^>]*)>"/g, (_all, words) => JSON.stringify(exampleOf(words))).replace(/<([^>]*)>/g, (_all, words) => bareOf(exampleOf(words)))}}`,
    );
  const omitted = Object.fromEntries(Object.keys(fill(optional)).map((name) => [name, null]));
  return { ...fill(needed.replace(/, $/, "")), ...(isFull ? fill(optional) : omitted) };
}

/** Takes what the words give as an example or a default, else the words. */
const exampleOf = (words: string): string =>
  /(?:such as|default) ([^\s,]+)/.exec(words)?.[1] ??
  /: (.+)$/.exec(words)?.[1]?.split("|")[0] ??
  words.replaceAll(" ", "-");

/** A flag or a number. */
const bareOf = (example: string): string => (/^(?:true|false)$/.test(example) ? example : String(Number(example) || 1));

interface Parameter {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Parameter;
  readonly properties?: Readonly<Record<string, Parameter>>;
}

function callTool(
  { tools = [], tool_choice: choice }: ChatRequest,
  name: string,
  isFull: boolean,
  values: Values,
): Answer {
  const tool = tools.find(({ function: { name: own } }) => own === name)?.function;
  if (!tool) throw new Error(`The request has no tool ${name}.`);
  const { properties } = tool.parameters as { readonly properties: Readonly<Record<string, Parameter>> };
  const given = { ...fillMembers(properties, isFull), ...values };
  if (!ajv.validate(tool.parameters, given)) throw new Error(`The tool ${name} refuses: ${ajv.errorsText()}`);
  const call = { id: "call_1", type: "function", function: { name, arguments: JSON.stringify(given) } };
  return { text: choice === "required" ? null : "I think.", finishReason: "tool_calls", toolCalls: [call] };
}

const fillMembers = (properties: Readonly<Record<string, Parameter>>, isFull: boolean): Values =>
  Object.fromEntries(Object.entries(properties).map(([key, parameter]) => [key, fillParameter(parameter, isFull)]));

function fillParameter({ type, description = "", enum: choices, ...inner }: Parameter, isFull: boolean): unknown {
  const types = [type ?? []].flat();
  if (!isFull && types.includes("null")) return null;
  if (choices) return choices[0];
  if (types.includes("array")) return [fillParameter(inner.items ?? {}, isFull)];
  if (inner.properties) return fillMembers(inner.properties, isFull);
  const example = exampleOf(description);
  return types.includes("string") ? example || "text" : JSON.parse(bareOf(example));
}
