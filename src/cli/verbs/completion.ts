/** completion.ts -- `goald completion`: prints the completion script of a shell. */
import { printLine } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { bashScript } from "../completion/bash.ts";
import { describeVerbs } from "../completion/describe-verbs.ts";
import { fishScript } from "../completion/fish.ts";
import { zshScript } from "../completion/zsh.ts";
import { defineVerb } from "../verb.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export const verb = defineVerb({
  name: "completion",
  group: "This home",
  summary: "print shell completion (bash, zsh, fish)",
  description: "print a script with which a shell completes verbs, options and agents",
  examples: [
    "goald completion bash > ~/.local/share/bash-completion/completions/goald",
    "goald completion zsh > ~/.zfunc/_goald",
    "goald completion fish > ~/.config/fish/completions/goald.fish",
  ],
  arguments: [{ name: "<shell>", about: "the shell", choices: ["bash", "zsh", "fish"] }],
  run: async ([shell], { json }, loadVerbs) => {
    const script = SCRIPTS[shell as keyof typeof SCRIPTS](describeVerbs(await loadVerbs()));
    printLine(json ? JSON.stringify({ shell, script }) : script.trimEnd());
    return EXIT.ok;
  },
});
