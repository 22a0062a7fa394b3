/** completion.ts -- `goald completion`: prints the completion script of a shell. It asks `goald complete` at each Tab. */
import { printLine } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { defineVerb } from "../verb.ts";

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

export const verb = defineVerb({
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
