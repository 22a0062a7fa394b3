/**
 * goald-guard.child.ts -- replaces cli.ts behind the guard: reports its input, waits for signals, leaves handles open.
 *
 * It is copied into a checkout of its own, so it imports nothing of goald.
 */
export async function main(args: readonly string[]): Promise<number> {
  switch (args[0]) {
    case "tell":
      return tell(args);
    case "wait":
      return wait();
    case "hang":
      return hang();
    case "flood":
      return flood();
    default:
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
  }
}

async function tell(args: readonly string[]): Promise<number> {
  let input = "";
  for await (const chunk of process.stdin) input += chunk;
  const terminals = [process.stdin, process.stdout, process.stderr].map(({ isTTY }) => isTTY === true);
  const guardVariables = Object.keys(process.env).filter((name) => name.startsWith("GOALD_GUARD"));
  const hasParent = process.send !== undefined;
  console.log(JSON.stringify({ args, input, terminals, guardVariables, hasParent, node: process.version }));
  console.error("trouble");
  return 7;
}

/** Reports the signals received within 300 ms after the first. */
async function wait(): Promise<number> {
  const keepAlive = setInterval(() => undefined, 1_000);
  const came: string[] = [];
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => {
        if (came.push(signal) === 1) setTimeout(resolve, 300);
      });
    console.log("ready");
  });
  clearInterval(keepAlive);
  console.log(`came: ${came.join(" ")}.`);
  return 130;
}

function hang(): Promise<number> {
  setInterval(() => undefined, 1_000);
  console.log(`pid ${process.pid}.`);
  return new Promise(() => undefined);
}

/** Writes more than a pipe holds, and leaves a timer open. */
async function flood(): Promise<number> {
  setInterval(() => undefined, 1_000);
  process.stdout.write(`${"x".repeat(2_000_000)}end`);
  return 4;
}
