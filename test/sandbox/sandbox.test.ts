import { describeSandbox } from "../contracts/sandbox.ts";
import { FAKE_CELLS, PYTHON } from "../helpers/cell-words.ts";
import { createFakeSandbox } from "../helpers/fake-sandbox.ts";

// The real sandbox is in contract.long.ts.
describeSandbox("the fake sandbox", PYTHON, () => createFakeSandbox(FAKE_CELLS, { maxProcesses: 2 }));
