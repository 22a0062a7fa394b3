/** complete.ts -- `goald complete` and `goald completion`: completes command lines in shells. */
import { printLine } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { foldLine } from "#util/outside-text.ts";
import { defineVerb, type LoadVerbs, type Verb, type VerbOption } from "../verb.ts";
import { SUMMARIES, VERB_NAMES } from "../verb-list.ts";

export const COMPLETE = defineVerb({
  examples: ["goald complete -- run --ap"],
  arguments: [{ name: "[words...]", about: "the words after goald; the last is the one at the cursor" }],
  run: async (words, { home }, loadVerbs) => {
    for (const [value, about] of await findCandidates(words, home, loadVerbs).catch(() => []))
      printLine(about === "" ? value : `${value}\t${about}`);
    return EXIT.ok;
  },
});

type Candidate = readonly [value: string, about: string];
type KnownOption = Pick<VerbOption, "flags" | "about" | "choices">;

const GLOBAL_OPTIONS: readonly KnownOption[] = [
  { flags: "--home <folder>", about: "use this home" },
  { flags: "--json", about: "print JSON" },
  { flags: "--no-color", about: "print without colour" },
  { flags: "--no-input", about: "never ask questions" },
  { flags: "-h, --help", about: "print help" },
];
const HELP: Candidate = ["help", "explain a verb"];

async function findCandidates(
  words: readonly string[],
  home: string | undefined,
  loadVerbs: LoadVerbs,
): Promise<readonly Candidate[]> {
  const line = await readLine(words.slice(0, -1), loadVerbs);
  const current = words.at(-1) ?? "";
  const agents = () => findAgents(current, line.home ?? home);
  const beginning = (all: readonly Candidate[]) => all.filter(([value]) => value.startsWith(current));
  if (line.open) {
    if (line.open.flags.includes("<agent>")) return agents();
    return beginning((line.open.choices ?? []).map((choice) => [choice, ""] as const));
  }
  if (current.startsWith("-"))
    return beginning([...(line.verb ? optionsOf(line.verb) : []), ...GLOBAL_OPTIONS].flatMap(namesOf));
  const [first = "", ...more] = line.given;
  if (first === "" || (first === "help" && more.length === 0)) return beginning([...verbsBelow(""), HELP]);
  const below = verbsBelow(first);
  // `memory` takes its agent before the verb.
  if (first === "memory") return more.length === 0 ? agents() : beginning(more.length === 1 ? below : []);
  const [argument] = line.verb?.arguments ?? [];
  if (more.length > 0 && !argument?.name.includes("...")) return [];
  if (below.length > 0) return beginning(below);
  if (argument?.choices) return beginning(argument.choices.map((choice) => [choice, ""] as const));
  return argument && (/agent/.test(argument.name) || /agent\//.test(argument.about)) ? agents() : [];
}

/** `given`: words that are neither options nor their values. `open`: the option whose value is at the cursor. */
async function readLine(words: readonly string[], loadVerbs: LoadVerbs) {
  const first = words.find((word, at) => !word.startsWith("-") && words[at - 1] !== "--home");
  const verbs = await loadVerbs(VERB_NAMES.filter((name) => name === first || name.startsWith(`${first} `)));
  const known = [...verbs.flatMap(optionsOf), ...GLOBAL_OPTIONS];
  const given: string[] = [];
  let open: KnownOption | undefined;
  let home: string | undefined;
  for (const word of words) {
    if (open) {
      if (open.flags.startsWith("--home")) home = word;
      open = undefined;
    } else if (word.startsWith("-"))
      open = known.find((option) => option.flags.includes("<") && namesOf(option).some(([name]) => name === word));
    else given.push(word);
  }
  const second = given[0] === "memory" ? given[2] : given[1];
  const verb = verbs.find(({ name }) => name === `${first} ${second}`) ?? verbs.find(({ name }) => name === first);
  return { given, verb, open, home };
}

const optionsOf = ({ options = {} }: Verb): readonly KnownOption[] => Object.values(options);

/** `-a` and `--all`. */
const namesOf = ({ flags, about }: KnownOption): readonly Candidate[] =>
  (flags.match(/(?<=^|[ ,])--?[\w-]+/g) ?? []).map((name) => [name, about] as const);

/** `""`: the verbs of `goald --help`. */
const verbsBelow = (parent: string): readonly Candidate[] =>
  VERB_NAMES.filter((name) =>
    parent === "" ? !name.includes(" ") && SUMMARIES[name].group !== undefined : name.startsWith(`${parent} `),
  ).map((name) => [name.slice(parent === "" ? 0 : parent.length + 1), SUMMARIES[name].summary] as const);

/** Ids with their names, or names when no id matches. */
async function findAgents(begin: string, home: string | undefined): Promise<readonly Candidate[]> {
  const [{ listAgentNames }, { findContext }] = await Promise.all([import("#app/reading.ts"), import("../context.ts")]);
  using context = await findContext({ ...(home === undefined ? {} : { home }), input: false });
  const rows = (await listAgentNames(context.home)).map(({ id, name }) => [id, foldLine(name)] as const);
  const byId = rows.filter(([id]) => id.startsWith(begin));
  if (byId.length > 0) return byId;
  const names = rows.map(([, name]) => name).filter((name) => name.toLowerCase().startsWith(begin.toLowerCase()));
  return [...new Set(names)].map((name) => [name, ""] as const);
}

/** The completion script of each shell, which asks `goald complete` at each Tab. */
const SCRIPTS = {
  bash: `# bash completion for goald
_goald() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <("$1" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -o default -F _goald goald`,
  zsh: `#compdef goald
# zsh completion for goald
_goald() {
  local -a values
  values=(\${(f)"$("\${words[1]}" complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)"})
  if (( ! $#values )); then _files; return; fi
  values=(\${values//:/\\\\:})
  values=(\${values//$'\\t'/:})
  _describe goald values
}
if [[ \${funcstack[1]} == _goald ]]; then _goald "$@"; else compdef _goald goald; fi`,
  fish: `# fish completion for goald
function __goald_complete
    set -l tokens (commandline -opc) (commandline -ct)
    $tokens[1] complete -- $tokens[2..-1] 2>/dev/null </dev/null
end
complete -c goald -a '(__goald_complete)'`,
} as const;

export const COMPLETION = defineVerb({
  description: "print a script with which a shell completes verbs, options and agents",
  examples: [
    "goald completion bash > ~/.local/share/bash-completion/completions/goald",
    "goald completion zsh > ~/.zfunc/_goald",
    "goald completion fish > ~/.config/fish/completions/goald.fish",
  ],
  arguments: [{ name: "<shell>", about: "the shell", choices: ["bash", "zsh", "fish"] }],
  run: async ([shell], { json }) => {
    const script = SCRIPTS[shell as keyof typeof SCRIPTS];
    printLine(json ? JSON.stringify({ shell, script }) : script);
    return EXIT.ok;
  },
});
