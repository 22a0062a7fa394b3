/** make-snapshot.ts -- the program that makes Python's start-up snapshot in a cage. An import does nothing. */
import { writeFrame } from "#cage/frames.ts";
import { loadPython } from "./load-python.ts";

if (import.meta.main) {
  const exit: () => never = process.exit.bind(process);
  const python = await loadPython({ _makeSnapshot: true });
  writeFrame({}, python.makeMemorySnapshot());
  exit();
}
