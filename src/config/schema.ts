/**
 * schema.ts -- one JSON Schema for settings wherever they come from, made from the table.
 *
 * Defaults, file and variables end in one object that is checked as a whole; what is wrong comes
 * back as setting names, so that the loader can say which file or variable it was.
 */
import { SETTINGS, type SettingRow } from "./settings-table.ts";

interface ObjectSchema {
  type: "object";
  additionalProperties: false;
  required: string[];
  properties: Record<string, ObjectSchema | SettingRow["schema"]>;
}

function settingsSchema(): ObjectSchema {
  const root = emptyObject();
  for (const { name, schema } of SETTINGS) {
    const parts = name.split(".");
    const last = parts.pop() ?? name;
    let inner = root;
    for (const part of parts) {
      const found = inner.properties[part];
      const next = found?.type === "object" ? found : emptyObject();
      if (next !== found) addProperty(inner, part, next);
      inner = next;
    }
    addProperty(inner, last, schema);
  }
  return root;
}

const emptyObject = (): ObjectSchema => ({
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {},
});

function addProperty(object: ObjectSchema, name: string, schema: ObjectSchema | SettingRow["schema"]): void {
  object.required.push(name);
  object.properties[name] = schema;
}

export interface Problem {
  /** Dotted; the root's own problems have the name "". */
  readonly name: string;
  readonly message: string;
}

/** What is wrong with complete settings; empty when nothing is. */
export async function problemsIn(settings: unknown): Promise<readonly Problem[]> {
  // Loaded when needed: verbs that only print help never do.
  const { Ajv } = await import("ajv");
  const validate = new Ajv({ allErrors: true }).compile(settingsSchema());
  if (validate(settings)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => ({
    name: instancePath.slice(1).replaceAll("/", "."),
    message: `${message}${"additionalProperty" in params ? ` (${params.additionalProperty})` : ""}`,
  }));
}
