/** Every commit of a run, killed before and after, and runs that are killed many times; npm test does some of each. */
import { describeChains } from "./kill-chain.ts";
import { describeKills } from "./kill-points.ts";

describeKills(() => true);
describeChains({ files: 12, kills: 15, lines: 80 });
