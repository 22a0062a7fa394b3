/**
 * generate_image -- a picture from a description, as a new file of the workspace.
 *
 * A picture costs money and its server keeps no count of repeats: so after a crash it is not asked for again. The
 * file's name follows from the call, and where it lies the picture was made; where it does not, nobody knows.
 */
import { type CommandContext, defineCommand, fail, type Probe, succeed } from "#core/command.ts";

const ENDINGS = { png: ".png", jpeg: ".jpg", webp: ".webp" } as const;
const ENDING = /\.(?:png|jpe?g|webp)$/i;

export default defineCommand({
  name: "generate_image",
  label: "Generate Image",
  summary: "makes a picture from a description and saves it as a new file; costs money each time.",
  args: {
    type: "object",
    properties: {
      prompt: { type: "string", description: "What it shows", hint: "prompt", minLength: 1, maxLength: 4_000 },
      file: {
        type: "string",
        description: "Relative path of a file that is not there yet",
        hint: "file",
        minLength: 1,
      },
      size: {
        type: "string",
        description: "Width and height in pixels, such as 1024x1024 (the default) or 1536x1024",
        hint: "size",
        pattern: "^(?:[1-9][0-9]{1,3}x[1-9][0-9]{1,3}|auto)$",
      },
    },
    required: ["prompt"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  effect: "reconcilable",
  needs: ["images"],
  timeoutMs: 240_000,

  async prepare({ file }, context) {
    return { wasThere: (await filesThere(file, context)).length > 0 };
  },

  async run({ prompt, file, size = "1024x1024" }, context) {
    const { workspace, signal, use } = context;
    const [taken] = await filesThere(file, context);
    if (taken !== undefined)
      return fail("file-exists", `${taken} is there already, and no picture was made. Choose another name.`);
    const image = await use("images").generate(prompt, size, signal);
    const path = stemOf(file, context) + ENDINGS[image.format];
    await workspace.write(path, image.bytes);
    const { format, width, height, bytes, revisedPrompt } = image;
    const facts = `${format.toUpperCase()}, ${width} x ${height} pixels, ${bytes.length} bytes`;
    const drawn = revisedPrompt === null ? "" : ` It was drawn from: ${revisedPrompt}`;
    return succeed(`Saved to ${path} (${facts}).${drawn}`, { source: "model", artifacts: [path] });
  },

  async probe({ file }, context, prepared): Promise<Probe> {
    if ((prepared as { readonly wasThere: boolean }).wasThere) return "unknown";
    const [path] = await filesThere(file, context);
    if (path === undefined) return "unknown";
    await context.workspace.preserve(path);
    return "done";
  },
});

/** The ending follows from what comes. */
const stemOf = (file: string | undefined, { callId }: CommandContext): string =>
  (file ?? `images/${callId}`).replace(ENDING, "");

/** Files that the picture may have become, or would take the place of. */
async function filesThere(file: string | undefined, context: CommandContext): Promise<readonly string[]> {
  const stem = stemOf(file, context);
  const found = await Promise.all(Object.values(ENDINGS).map((ending) => context.workspace.stat(stem + ending)));
  return found.flatMap((stat) => (stat ? [stat.path] : []));
}
