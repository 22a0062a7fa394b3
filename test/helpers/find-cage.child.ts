/** find-cage.child.ts -- prints which cage this machine has. */
import { findCage } from "#cage/find-cage.ts";

const { level, reason, advice } = await findCage();
console.log(JSON.stringify({ level, reason, advice }));
