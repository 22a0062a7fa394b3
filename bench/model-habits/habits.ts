/**
 * habits.ts -- replies that current models of each family send when they are asked for one command.
 *
 * The formats of calls are those of the families' chat templates and of the parsers of vLLM and SGLang.
 */
import type { ReplyForm } from "#core/agent-settings.ts";
import type { CommandCall } from "#core/call.ts";

export interface Habit {
  readonly family: string;
  readonly sends: string;
  /** `{call}` stands for the call as the form asks for it. A text without it is the whole reply in any form. */
  readonly text?: string;
  /** Name and arguments in that call, as they are written. */
  readonly name?: string;
  readonly args?: string;
  /** The block in that call, in which `{code}` stands for the Python. */
  readonly block?: string;
  /** Replaces the text: only reasoning comes, in a member of its own. */
  readonly reasoning?: string;
  readonly finishReason?: string;
  /** Native calls after the first one. */
  readonly further?: readonly CommandCall[];
  /** Default: all. */
  readonly forms?: readonly ReplyForm[];
  /** The commands that are meant; none for an empty list. Default: the call that the form asks for. */
  readonly means?: readonly CommandCall[];
  /** Prose for a person: in the form `code` it is the answer. */
  readonly isAnswer?: true;
}

/** The command that is asked for. Its text has what models escape wrongly. */
export const WRITE: CommandCall = {
  name: "write_to_file",
  args: { file: "notes.md", text: 'Tea: 4.50\nCoffee: "5" {net}' },
};
/** The same work in the forms `react` and `code`. */
export const PYTHON = 'write_to_file(file="notes.md", text="Tea: 4.50")';

const ARGS = JSON.stringify(WRITE.args);
const TEXT = JSON.stringify(WRITE.args.text);
const CALL = `{"name": "write_to_file", "arguments": ${ARGS}}`;
/** A draft that the model gives up: it must never run. */
const DRAFT = '{"command":{"name":"delete_file","args":{"file":"notes.md"}}}';
const NONE = { means: [] } as const;
const IN_TEXT = { forms: ["json", "plan"] } as const;

type Rest = Partial<Omit<Habit, "family" | "sends">>;
const around = (family: string, sends: string, text: string, rest: Rest = {}): Habit => ({
  family,
  sends,
  text,
  ...rest,
});
const withArgs = (family: string, sends: string, args: string, rest: Rest = {}): Habit => ({
  family,
  sends,
  args,
  forms: ["json", "tools", "plan"],
  ...rest,
});
const withBlock = (family: string, sends: string, block: string, rest: Rest = {}): Habit => ({
  family,
  sends,
  block,
  forms: ["react", "code"],
  ...rest,
});
const read = (args: object): CommandCall => ({ name: "read_file", args: { file: "prices.md", ...args } });
/** An argument of `read_file` as it is written. */
const withLine = (family: string, sends: string, line: string, rest: Rest): Habit =>
  withArgs(family, sends, `{"file":"prices.md","first_line":${line}}`, { name: "read_file", ...rest });
/** A call in XML: the tag of an argument before and behind its value. */
const inXml = (open: (name: string) => string, close: (name: string) => string): string =>
  Object.entries(WRITE.args)
    .map(([name, value]) => `${open(name)}${value}${close(name)}`)
    .join("\n");
const PARAMETERS = inXml(
  (name) => `<parameter name="${name}">`,
  () => "</parameter>",
);
const INVOKE = `<invoke name="write_to_file">\n${PARAMETERS}\n</invoke>`;
const QWEN_XML = inXml(
  (name) => `<parameter=${name}>\n`,
  () => "\n</parameter>",
);
const GLM_XML = inXml(
  (name) => `<arg_key>${name}</arg_key>\n<arg_value>`,
  () => "</arg_value>",
);
const CLINE_XML = inXml(
  (name) => `<${name}>\n`,
  (name) => `\n</${name}>`,
);

export const HABITS: readonly Habit[] = [
  // Reasoning
  around(
    "Open WebUI",
    "reasoning in details",
    `<details type="reasoning" done="true">\nOr ${DRAFT}.\n</details>\n{call}`,
  ),
  around("DeepSeek", "a think block", "<think>\nThe prices go into notes.md.\n</think>\n\n{call}"),
  around("Qwen", "an empty think block", "<think>\n\n</think>\n\n{call}"),
  around("Qwen", "a closing think tag alone", "The prices go into notes.md.\n</think>\n\n{call}"),
  around("QwQ", "a draft in the reasoning", `<think>Or ${DRAFT}? No.</think>\n{call}`),
  { family: "DeepSeek", sends: "reasoning and no answer", reasoning: "The prices go into notes.md.", ...NONE },
  around("Qwen", "a think block and no answer", `<think>\nI could send ${DRAFT}\n</think>`, NONE),
  around("Magistral", "a think block without its end", `[THINK]Either ${DRAFT} or`, NONE),
  around("Kimi", "its own think marks", "◁think▷Write, then check.◁/think▷{call}"),
  around("Gemini", "a thought in tags", "<thought>\nWrite, then check.\n</thought>\n{call}"),
  around(
    "gpt-oss",
    "channels",
    "<|channel|>analysis<|message|>Write.<|end|><|start|>assistant<|channel|>final<|message|>{call}",
  ),
  around("gpt-oss", "channels without their marks", "analysisWrite the prices.assistantfinal{call}"),
  // Text around the call
  around("GPT", "a preamble", "Sure! Here is the next step:\n\n{call}"),
  around("Claude", "text before and after", "I'll write the prices down.\n\n{call}\n\nLet me know how it goes."),
  around("Llama", "an apology before it", "I apologize for the confusion. You are right.\n\n{call}"),
  around("Qwen", "Chinese prose around it", "好的，我来写入文件：\n\n{call}\n\n以上。"),
  around("Gemma", "a block of json", "```json\n{call}\n```", IN_TEXT),
  around("Mistral", "a block without a name", "```\n{call}\n```", IN_TEXT),
  around("Phi", "Markdown around it", "## Next step\n\n**Command:**\n\n```json\n{call}\n```\n\n> Done.", IN_TEXT),
  around("Yi", "escaped backticks", "\\`\\`\\`json\n{call}\n\\`\\`\\`", IN_TEXT),
  around("GLM", "box marks", "<|begin_of_box|>{call}<|end_of_box|>", IN_TEXT),
  around("Claude", "an answer in tags", "<answer>\n{call}\n</answer>", IN_TEXT),
  around("Llama", "its end mark", "{call}<|eot_id|>"),
  around("Qwen", "the next turn, invented", "{call}<|im_end|>\n<|im_start|>user\nThe file was written."),
  around("GPT", "the call twice", "{call}\n\n{call}", IN_TEXT),
  around("Llama", "two different calls", `{call}\n${DRAFT}`, { forms: ["json"], ...NONE }),
  around("GPT", "JSON within a string", JSON.stringify(CALL), { forms: ["json", "tools"] }),
  // Arguments
  withArgs("Llama", "a trailing comma", `{"file": "notes.md", "text": ${TEXT},}`),
  withArgs("CodeLlama", "a Python dict", `{'file': 'notes.md', 'text': 'Tea: 4.50\\nCoffee: "5" {net}'}`),
  withArgs("Mistral", "line breaks in a string", '{"file": "notes.md", "text": "Tea: 4.50\nCoffee: \\"5\\" {net}"}'),
  withArgs("Phi", "a comment", `{"file": "notes.md", // the file\n "text": ${TEXT}}`),
  withArgs("Qwen", "Chinese punctuation", `{“file”：“notes.md”，“text”：“Tea: 4.50”}`, NONE),
  withArgs("Llama", "quotes that are not escaped", '{"file": "notes.md", "text": "Coffee: "5" {net}"}', NONE),
  withArgs("Gemini", "keys without quotes", `{file: "notes.md", text: ${TEXT}}`, NONE),
  withArgs("DeepSeek", "arguments within a string", JSON.stringify(ARGS)),
  withArgs("Claude", "other names of arguments", `{"path": "notes.md", "content": ${TEXT}}`),
  withArgs("Mistral", "an argument too many", `{"file": "notes.md", "text": ${TEXT}, "mode": "append"}`, NONE),
  withArgs("Gemma", "a placeholder", `{"file": "<filename>", "text": ${TEXT}}`, NONE),
  withArgs("Llama", "types in place of values", '{"file": {"type": "string"}, "text": {"type": "string"}}', NONE),
  withArgs("DeepSeek", "arguments that are cut off", '{"file": "notes.md", "text": "Te', {
    finishReason: "length",
    ...NONE,
  }),
  withLine("Qwen", "a number as a string", '"12"', { means: [read({ first_line: 12 })] }),
  withLine("Mistral", "a number with a comma as a string", '"1,200"', NONE),
  withLine("Mistral", "a number with a comma", "1,200", NONE),
  withLine("Gemini", "null for what is left out", "null", { means: [read({})] }),
  // Names
  withArgs("Llama", "a name in camel case", ARGS, { name: "writeToFile" }),
  withArgs("GPT", "a name in its namespace", ARGS, { name: "functions.write_to_file" }),
  withArgs("Qwen", "a name in capitals", ARGS, { name: "WRITE_TO_FILE" }),
  withArgs("Claude", "the name of another tool", ARGS, { name: "str_replace_editor", ...NONE }),
  // A call in the notation of the family, whatever the form asks for
  around("Hermes", "a tool_call block", `<tool_call>\n${CALL}\n</tool_call>`),
  around("Qwen", "a call in XML", `<tool_call>\n<function=write_to_file>\n${QWEN_XML}\n</function>\n</tool_call>`),
  around(
    "Qwen",
    "a call in XML that writes a call",
    `<function=write_to_file>\n<parameter=text>\n${DRAFT}\n</parameter>`,
    NONE,
  ),
  around("GLM", "a call in XML", `<tool_call>write_to_file\n${GLM_XML}\n</tool_call>`),
  around("Claude", "a call in XML", `I write it.\n\n<function_calls>\n${INVOKE}\n</function_calls>`),
  around("MiniMax", "a call in XML", `<minimax:tool_call>\n${INVOKE}\n</minimax:tool_call>`),
  around("Cline", "a call in XML", `<write_to_file>\n${CLINE_XML}\n</write_to_file>`),
  around(
    "DeepSeek",
    "call marks",
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_to_file<｜tool▁sep｜>${ARGS}<｜tool▁call▁end｜>`,
  ),
  around(
    "Kimi",
    "call marks",
    `<|tool_call_begin|>functions.write_to_file:0<|tool_call_argument_begin|>${ARGS}<|tool_call_end|>`,
  ),
  around(
    "gpt-oss",
    "a harmony call",
    `<|channel|>commentary to=functions.write_to_file <|constrain|>json<|message|>${ARGS}<|call|>`,
  ),
  around("gpt-oss", "a harmony call without its marks", `assistantcommentary to=functions.write_to_file json${ARGS}`),
  around("Mistral", "TOOL_CALLS with a list", `[TOOL_CALLS][${CALL}]`),
  around("Mistral", "TOOL_CALLS with ARGS", `[TOOL_CALLS]write_to_file[ARGS]${ARGS}`),
  around("Llama", "a python_tag", `<|python_tag|>${CALL.replace("arguments", "parameters")}<|eom_id|>`),
  around("Llama", "a list of Python calls", `[${PYTHON}]`),
  around("Gemma", "a block of tool_code", `\`\`\`tool_code\n${PYTHON}\n\`\`\``),
  around(
    "Command",
    "an ACTION block",
    `<|START_ACTION|>[{"tool_name":"write_to_file","parameters":${ARGS}}]<|END_ACTION|>`,
  ),
  around("LangChain", "Action and Action Input", `Thought: I write.\nAction: write_to_file\nAction Input: ${ARGS}`),
  around("MCP", "a request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${CALL}}`),
  // A call that is the text of a file or a quotation
  around("Aider", "a block that replaces", `a.json\n<<<<<<< SEARCH\n{}\n=======\n${DRAFT}\n>>>>>>> REPLACE`, NONE),
  around("Codex", "a patch", `*** Begin Patch\n*** Add File: a.json\n+${DRAFT}\n*** End Patch`, NONE),
  around("Roo", "a change in XML", `<apply_diff>\n<path>a.json</path>\n<diff>${DRAFT}</diff>\n</apply_diff>`, NONE),
  around("Qwen", "a here-document", `\`\`\`bash\ncat > a.json <<'EOF'\n${DRAFT}\nEOF\n\`\`\``, NONE),
  around("Claude", "a call that it refuses", `I would not run this:\n\n${DRAFT}`, {
    forms: ["json", "tools"],
    ...NONE,
  }),
  around("GPT", "a call in a block of json", `\`\`\`json\n${CALL}\n\`\`\``),
  // Several native calls
  {
    ...around("GPT", "calls that write", "{call}", NONE),
    further: [{ name: "delete_file", args: { file: "old.md" } }],
    forms: ["tools"],
  },
  {
    ...withArgs("Claude", "calls that read", '{"file":"prices.md"}', { name: "read_file", forms: ["tools"] }),
    further: [read({ file: "notes.md" })],
    means: [read({}), read({ file: "notes.md" })],
  },
  // Code
  withBlock("Qwen", "a block of py", "```py\n{code}\n```"),
  withBlock("Mistral", "a block without a name", "```\n{code}\n```"),
  withBlock("Yi", "a block in escaped backticks", "\\`\\`\\`python\n{code}\n\\`\\`\\`"),
  withBlock("CodeAct", "an execute tag", "<execute_ipython>\n{code}\n</execute_ipython>"),
  withBlock("smolagents", "a code tag", "<code>\n{code}\n</code>"),
  withBlock("GPT", "a block for a shell", "```bash\npip install pandas\n```", NONE),
  withBlock(
    "DeepSeek",
    "an invented observation",
    "```python\n{code}\n```\nOBSERVATION 1:\nwritten\n\nTHOUGHT 2:\nDone.",
  ),
  // No call
  around("GPT", "a refusal", "I'm sorry, but I can't help with that.", { isAnswer: true, ...NONE }),
  around("Claude", "a question", "Which currency should the prices have?", { isAnswer: true, ...NONE }),
  around("Llama", "an announcement", "Let me write the prices to notes.md:", NONE),
  around("GPT", "nothing", "", NONE),
];
