/** The contract of an index on the plain one of the tests, and on the exact one where WebAssembly is missing. */
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openScanMemory } from "#memory/vectors/int8-scan.ts";
import { vectorIndexContract } from "../../contracts/vector-index.ts";
import { plainIndex } from "../../helpers/plain-index.ts";

vectorIndexContract("the plain index of the tests", plainIndex);
vectorIndexContract(
  "the exact index without WebAssembly",
  (dimensions) => new ExactIndex(dimensions, openScanMemory({ native: false })),
);
