import type { Command } from "commander";
import type { Bind } from "./bind.ts";

export function addHomeVerbs(_program: Command, _bind: Bind): void {}
