/** call-ids.ts -- ids of calls. They come from the step number, and from the path in a nested frame, so that they need no randomness. Pure. */
import type { Frame } from "./frame.ts";

export const modelCallId = ({ path, asked }: Frame, step: number): string =>
  path === "" ? `m${step}` : `${path}.m${asked + 1}`;
/** The first call of a reply in a step of the agent itself. */
export const callIdOfStep = (step: number): string => `c${step}`;
/** `index`: place of the call among those of its reply, from 0. */
export const commandCallId = ({ path, asked }: Frame, step: number, index = 0): string =>
  (path === "" ? callIdOfStep(step) : `${path}.c${asked}`) + (index === 0 ? "" : `-${index + 1}`);
