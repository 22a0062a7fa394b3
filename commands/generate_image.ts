/**
 * generate_image -- makes a picture from a description and saves it as a new file of the workspace.
 *
 * A picture costs money and servers do not detect repeated requests, so it is not requested again after a crash. The
 * file name follows from the call: if the file exists, the picture was made; otherwise the outcome is unknown.
 */
import { type CommandContext, defineCommand, fail, type Probe, succeed } from "#core/command.ts";

const ENDINGS = { png: ".png", jpeg: ".jpg", webp: ".webp" } as const;
const ENDING = /\.(?:png|jpe?g|webp)$/i;

export default defineCommand({
  name: "generate_image",
  label: "Generate Image",
  group: "media",
  summary: "makes a picture and saves it as a new file; costs money each time.",
  args: {
    type: "object",
    properties: {
      prompt: { type: "string", description: "what it shows", minLength: 1, maxLength: 4_000 },
      file: {
        type: "string",
        description: "relative path of a new file",
        minLength: 1,
      },
      size: {
        type: "string",
        description: "pixels, default 1024x1024",
        pattern: "^(?:[1-9][0-9]{1,3}x[1-9][0-9]{1,3}|auto)$",
      },
    },
    required: ["prompt"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  // A server of the settings receives it, as one does with every prompt.
  sends: [],
  writes: { file: null },
  effect: "reconcilable",
  needs: ["images"],
  timeoutMs: 240_000,

  async prepare({ file }, context) {
    return { wasThere: (await listExistingFiles(file, context)).length > 0 };
  },

  async run({ prompt, file, size = "1024x1024" }, context) {
    const { workspace, signal, use } = context;
    const [taken] = await listExistingFiles(file, context);
    if (taken !== undefined)
      return fail("file-exists", `${taken} is there already, and no picture was made. Choose another name.`);
    const image = await use("images").generate(prompt, size, signal);
    const path = createStem(file, context) + ENDINGS[image.format];
    await workspace.write(path, image.bytes);
    const { format, width, height, bytes, revisedPrompt } = image;
    const facts = `${format.toUpperCase()}, ${width} x ${height} pixels, ${bytes.length} bytes`;
    const drawn = revisedPrompt === null ? "" : ` It was drawn from: ${revisedPrompt}`;
    return succeed(`Saved to ${path} (${facts}).${drawn}`, { source: "model", artifacts: [path], value: path });
  },

  async probe({ file }, context, prepared): Promise<Probe> {
    if ((prepared as { readonly wasThere: boolean }).wasThere) return "unknown";
    const [path] = await listExistingFiles(file, context);
    if (path === undefined) return "unknown";
    await context.workspace.preserve(path);
    return "done";
  },
});

/** Returns the path without its ending, which depends on the picture. In a folder, the call names the file. */
const createStem = (file: string | undefined, { callId }: CommandContext): string =>
  (file ?? "images/").replace(/\/$/, `/${callId}`).replace(ENDING, "");

/** Returns existing files at the possible paths of the picture. */
async function listExistingFiles(file: string | undefined, context: CommandContext): Promise<readonly string[]> {
  const stem = createStem(file, context);
  const found = await Promise.all(Object.values(ENDINGS).map((ending) => context.workspace.stat(stem + ending)));
  return found.flatMap((stat) => (stat ? [stat.path] : []));
}
