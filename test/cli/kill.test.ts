import { describeKills } from "./kill-points.ts";

// One point before a commit and one after; kill.long.ts takes all, and chains of kills.
describeKills((index) => index === 4 || index === 31);
