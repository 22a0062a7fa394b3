/** Every commit of a run, killed before and after; npm test does every fifth. */
import { describeKills } from "./kill-points.ts";

describeKills(() => true);
