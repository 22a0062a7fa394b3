/** store.ts -- `goald verify` and `goald backup`: checks the store, and copies it. */
import { acceptLossOf, backUpHome } from "#app/own-store.ts";
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { reading } from "../agents.ts";
import { formatCall, openContext } from "../context.ts";
import { defineVerb, flag, usageError } from "../verb.ts";
import { quoteForShell } from "../verb-list.ts";

export const VERIFY = defineVerb({
  description:
    "check the hash chains and every reference of the store, and that it still has every commit that goald confirmed",
  examples: ["goald verify", "goald verify chef", "goald verify --accept-loss"],
  arguments: [{ name: "[agent]", about: "id or name (default: all agents)" }],
  options: {
    acceptLoss: flag(
      "--accept-loss",
      "let agents continue without what the store has lost; commands of lost steps may run again",
    ),
  },
  exitCodes: { error: "the store is damaged", notFound: "no such agent", conflict: "with --accept-loss: a host runs" },
  run: async ([name], { acceptLoss = false, ...options }) => {
    if (acceptLoss && name !== undefined)
      throw usageError("Expected --accept-loss without an agent: it applies to the whole store.");
    // A daemon that is started again would refuse the store.
    return reading({ ...options, revives: !acceptLoss }, async (reading, { output, home }) => {
      if (acceptLoss) {
        const accepted = await acceptLossOf(home);
        for (const loss of accepted) output.say(clean(`Accepted: ${loss}`));
        if (accepted.length === 0) output.say("The store has lost nothing.");
      }
      const report = await reading.verify(name ?? null);
      if (!output.printJson(report)) {
        for (const problem of report.problems) output.data(clean(problem));
        const verdict = report.problems.length === 0 ? "sound" : countNoun(report.problems.length, "problem");
        output.say(`${countNoun(report.agents, "agent")}, ${countNoun(report.events, "event")}: ${verdict}.`);
      }
      return report.problems.length === 0 ? EXIT.ok : EXIT.error;
    });
  },
});

export const BACKUP = defineVerb({
  description:
    "write a verified copy of the store: events, memories, messages and all versions of files that commands wrote; agents may run meanwhile",
  examples: ["goald backup goald-backup.db", "goald backup goald-backup.db --force"],
  arguments: [{ name: "<file>", about: "file to write, readable by its owner only" }],
  options: { force: flag("--force", "replace the file if it exists") },
  exitCodes: {
    error: "the store is damaged, or the file cannot be written",
    notFound: "this home has no store yet",
    conflict: "the file exists",
  },
  run: async ([name = ""], { force = false, ...options }) => {
    using context = await openContext(options);
    const { home, output } = context;
    const { file, agents, events, bytes } = await backUpHome(home, name, force);
    if (output.printJson({ file, agents, events, bytes })) return EXIT.ok;
    const size = `${countNoun(agents, "agent")}, ${countNoun(events, "event")}, ${countNoun(bytes, "byte")}`;
    output.say(clean(`Wrote ${file}: ${size}, verified.`));
    output.say("It has the events, memories and messages, and every version of a file that a command of goald wrote.");
    output.say(
      clean(`It does not have ${home.root}/workspace, settings, keys, own commands, prompts, recordings or logs.`),
    );
    const [store, copy] = [quoteForShell(home.database), quoteForShell(file)];
    const [down, verify] = [formatCall(home, "down"), formatCall(home, "verify")];
    output.say(clean(`Restore it: ${down} && rm -f ${store}-* && cp ${copy} ${store} && ${verify}`));
    return EXIT.ok;
  },
});
