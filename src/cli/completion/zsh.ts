/** zsh.ts -- the completion script for zsh. */
import {
  agentVerbs,
  type CompletedOption,
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

export function zshScript(verbs: readonly CompletedVerb[]): string {
  const parents = parentsOf(verbs).filter((name) => name !== "memory");
  return `#compdef goald
# zsh completion for goald
# goald completion zsh > ~/.zfunc/_goald   (a folder of $fpath)

_goald_agents() {
  local -a values
  values=(\${(f)"$("\${words[1]}" complete agents "\${(Q)words[CURRENT]}" "$@" 2>/dev/null </dev/null)"})
  values=(\${values//:/\\\\:})
  values=(\${values//$'\\t'/:})
  _describe agent values
}

_goald() {
  local -a given home options values
  local i verb
  for (( i = 2; i < CURRENT; i++ )); do
    case "\${given[1]-} \${words[i]}" in
      *' --home') (( i++ )); home=(--home "\${(Q)words[i]}") ;;
      ${alternatives(flagsWithValue(verbs))}) (( i++ )) ;;
      *' -'*) ;;
      *) given+=("\${words[i]}") ;;
    esac
  done
  verb=\${given[1]-}
  case $verb in
    memory) verb+=" \${given[3]-}" ;;
    ${alternatives(parents)}) verb+=" \${given[2]-}" ;;
  esac

  case "\${given[1]-} \${words[CURRENT-1]}" in
${flagsWithChoices(verbs)
  .map(({ flags, choices }) => `    ${alternatives(flags)}) compadd -- ${choices.map(quote).join(" ")}; return ;;`)
  .join("\n")}
    ${alternatives(flagsWithAgent(verbs))}) _goald_agents $home; return ;;
    *' --home' | ${alternatives(flagsWithText(verbs))}) _files; return ;;
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    case $verb in
${verbs.map(({ name, options }) => `      ${quote(name)}) options=(${options.flatMap(optionItems).join(" ")}) ;;`).join("\n")}
    esac
    options+=(${GLOBAL_OPTIONS.flatMap(optionItems).join(" ")})
    _describe -o option options
    return
  fi
  case "$#given \${given[1]-}" in
    '0 ' | '1 help') values=(${verbItems([...verbsBelow(verbs, ""), HELP_VERB])}) ;;
    '2 memory') values=(${verbItems(verbsBelow(verbs, "memory"))}) ;;
${parents.map((name) => `    '1 ${name}') values=(${verbItems(verbsBelow(verbs, name))}) ;;`).join("\n")}
${verbs
  .filter(({ choices }) => choices.length > 0)
  .map(({ name, choices }) => `    '1 ${name}') compadd -- ${choices.map(quote).join(" ")}; return ;;`)
  .join("\n")}
    ${alternatives(agentVerbs(verbs).map((name) => `1 ${name}`))})
      _goald_agents $home
      return
      ;;
    *) _files; return ;;
  esac
  _describe verb values
}

if [[ \${funcstack[1]} == _goald ]]; then _goald "$@"; else compdef _goald goald; fi
`;
}

const optionItems = ({ names, about }: CompletedOption): readonly string[] => names.map((name) => item(name, about));

const verbItems = (verbs: readonly { readonly name: string; readonly summary: string }[]): string =>
  verbs.map(({ name, summary }) => item(name, summary)).join(" ");

/** A colon divides a value from its description. */
const item = (value: string, about: string): string => quote(`${value.replaceAll(":", "\\:")}:${about}`);

const alternatives = (texts: readonly string[]): string => texts.map(quote).join(" | ");

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
