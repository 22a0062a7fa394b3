/**
 * line-input.child.ts -- a program that asks, for tests on a real terminal: prints what it was answered as JSON.
 */
import { openLineInput } from "#cli/terminal/line-input.ts";

const interrupts: string[] = [];
process.on("SIGINT", () => {
  interrupts.push("SIGINT");
  console.log("interrupted while idle");
});
const input = openLineInput(process.stdin, process.stdout);
const name = await input.askLine("Name? ");
const secret = await input.askSecret("Secret? ");
const again = await input.askLine("Again? ");
const { interrupted } = input;
console.log("idle");
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    if (interrupts.length === 0) return;
    clearInterval(timer);
    resolve();
  }, 10);
});
const last = await input.askLine("Last? ");
input.close();
const length = secret?.length;
console.log(
  `ANSWERS ${JSON.stringify({ name, length, again: again ?? "left", interrupted, interrupts, last: last ?? "left" })}`,
);
