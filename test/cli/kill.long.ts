/** Kills a run before and after every commit, and in long chains; `npm test` runs a part of these. */
import { describeChains } from "./kill-chain.ts";
import { describeKills } from "./kill-points.ts";

describeKills(() => true);
describeChains({ files: 12, kills: 15, lines: 80 });
