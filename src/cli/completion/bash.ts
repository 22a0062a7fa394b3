/** bash.ts -- the completion script for bash 3.2 and later. */
import {
  agentVerbs,
  type CompletedVerb,
  flagsWithAgent,
  flagsWithChoices,
  flagsWithText,
  flagsWithValue,
  GLOBAL_OPTIONS,
  HELP_VERB,
  parentsOf,
  verbsBelow,
} from "./describe-verbs.ts";

export function bashScript(verbs: readonly CompletedVerb[]): string {
  const parents = parentsOf(verbs).filter((name) => name !== "memory");
  return `# bash completion for goald
# goald completion bash > ~/.local/share/bash-completion/completions/goald

_goald_agents() {
  local line
  while IFS= read -r line; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <("$1" complete agents "$2" "\${@:3}" 2>/dev/null </dev/null)
}

_goald() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
  local -a given=() home=()
  local i verb values= options=
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${given[0]-} \${COMP_WORDS[i]}" in
      *' --home') home=(--home "\${COMP_WORDS[++i]}") ;;
      ${alternatives(flagsWithValue(verbs))}) ((i++)) ;;
      *' -'*) ;;
      *) given+=("\${COMP_WORDS[i]}") ;;
    esac
  done
  verb=\${given[0]-}
  case $verb in
    memory) verb+=" \${given[2]-}" ;;
    ${parents.join(" | ")}) verb+=" \${given[1]-}" ;;
  esac
  COMPREPLY=()

  case "\${given[0]-} $before" in
${flagsWithChoices(verbs)
  .map(({ flags, choices }) => `    ${alternatives(flags)}) values=${quote(choices.join(" "))} ;;`)
  .join("\n")}
    ${alternatives(flagsWithAgent(verbs))})
      _goald_agents "$1" "$current" "\${home[@]+"\${home[@]}"}"
      return
      ;;
    *' --home' | ${alternatives(flagsWithText(verbs))}) return ;;
  esac
  if [[ -z $values && $current == -* ]]; then
    case $verb in
${verbs.map(({ name, options }) => `      ${quote(name)}) options=${quote(namesOf(options))} ;;`).join("\n")}
    esac
    values="$options ${namesOf(GLOBAL_OPTIONS)}"
  elif [[ -z $values ]]; then
    case "\${#given[@]} \${given[0]-}" in
      '0 ' | '1 help') values=${quote(`${namesBelow(verbs, "")} ${HELP_VERB.name}`)} ;;
      '2 memory') values=${quote(namesBelow(verbs, "memory"))} ;;
${parents.map((name) => `      '1 ${name}') values=${quote(namesBelow(verbs, name))} ;;`).join("\n")}
${verbs
  .filter(({ choices }) => choices.length > 0)
  .map(({ name, choices }) => `      '1 ${name}') values=${quote(choices.join(" "))} ;;`)
  .join("\n")}
      ${alternatives(agentVerbs(verbs).map((name) => `1 ${name}`))})
        _goald_agents "$1" "$current" "\${home[@]+"\${home[@]}"}"
        return
        ;;
    esac
  fi
  while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$values" -- "$current")
}

complete -o default -F _goald goald
`;
}

const alternatives = (texts: readonly string[]): string => texts.map(quote).join(" | ");

const namesOf = (options: CompletedVerb["options"]): string => options.flatMap(({ names }) => names).join(" ");

const namesBelow = (verbs: readonly CompletedVerb[], parent: string): string =>
  verbsBelow(verbs, parent)
    .map(({ name }) => name)
    .join(" ");

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
