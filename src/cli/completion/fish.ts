/** fish.ts -- the completion script for fish. */
import {
  agentVerbs,
  type CompletedOption,
  type CompletedVerb,
  flagsWithValue,
  GLOBAL_OPTIONS,
  HELP_VERB,
  parentsOf,
  verbsBelow,
} from "./describe-verbs.ts";

export function fishScript(verbs: readonly CompletedVerb[]): string {
  const parents = parentsOf(verbs).filter((name) => name !== "memory");
  const below = (parent: string, count: number): readonly string[] =>
    verbsBelow(verbs, parent).map((verb) => verbLine(`__goald_at ${count} ${parent}`, verb));
  return `# fish completion for goald
# goald completion fish > ~/.config/fish/completions/goald.fish

function __goald_given
    set -l tokens (commandline -opc)
    set -l given
    set -l skip no
    for token in $tokens[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch "$given[1] $token"
            case '* --home' ${flagsWithValue(verbs).map(quote).join(" ")}
                set skip yes
            case '* -*'
            case '*'
                set -a given $token
        end
    end
    string join \\n -- $given
end

function __goald_at
    set -l given (__goald_given)
    test (count $given) = $argv[1]; and contains -- "$given[1]" $argv[2..-1]
end

function __goald_verb
    set -l given (__goald_given)
    switch "$given[1]"
        case memory
            set -e given[2]
        case ${parents.map(quote).join(" ")}
        case '*'
            set given $given[1]
    end
    test "$given[1..2]" = "$argv"
end

function __goald_agents
    set -l tokens (commandline -opc)
    set -l home
    set -l at (contains -i -- --home $tokens); and set home --home $tokens[(math $at + 1)]
    $tokens[1] complete agents (commandline -ct) $home 2>/dev/null </dev/null
end

${[
  ...GLOBAL_OPTIONS.map((option) => optionLine("", option)),
  ...[...verbsBelow(verbs, ""), HELP_VERB].map((verb) => verbLine("__goald_at 0 ''", verb)),
  ...verbsBelow(verbs, "").map((verb) => verbLine("__goald_at 1 help", verb)),
  ...below("memory", 2),
  ...parents.flatMap((name) => below(name, 1)),
  ...verbs
    .filter(({ choices }) => choices.length > 0)
    .map(({ name, choices }) => `complete -c goald -f -n '__goald_at 1 ${name}' -a ${quote(choices.join(" "))}`),
  `complete -c goald -f -n '__goald_at 1 ${agentVerbs(verbs).join(" ")}' -a '(__goald_agents)'`,
  ...verbs.flatMap(({ name, options }) => options.map((option) => optionLine(`-n '__goald_verb ${name}' `, option))),
].join("\n")}
`;
}

const verbLine = (condition: string, { name, summary }: { readonly name: string; readonly summary: string }): string =>
  `complete -c goald -f -n ${quote(condition)} -a ${name} -d ${quote(summary)}`;

function optionLine(condition: string, { names, about, takesValue, takesAgent, choices }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const offered = takesAgent ? "(__goald_agents)" : choices.join(" ");
  const value = offered !== "" ? [`-x -a ${quote(offered)}`] : takesValue ? ["-r"] : [];
  return `complete -c goald ${condition}${[...flags, ...value].join(" ")} -d ${quote(about)}`;
}

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
