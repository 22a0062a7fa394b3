/** html.ts -- templates of htm as elements of Preact, and the hooks of Preact. */
import type { VNode } from "preact";
import htm from "/vendor/htm.js";
import { h } from "/vendor/preact.js";

export type { ComponentChildren as Children } from "preact";
export { useEffect, useMemo, useRef, useState } from "/vendor/hooks.js";
export { render } from "/vendor/preact.js";

/** By `this[0]` htm keeps no element between calls: a kept one holds the tree that it stood in first, with all rows. */
function create(this: number[], ...given: Parameters<typeof h>): VNode {
  this[0] = 3;
  return h(...given);
}
// The types of htm are those of its CommonJS module.
const templates = htm as unknown as typeof htm.default;
export const html = templates.bind(create) as (strings: TemplateStringsArray, ...values: readonly unknown[]) => VNode;
