/**
 * secrets.ts -- which values must never be shown: the input of the redactor.
 *
 * Keys of settings, and whatever the environment or `.env` calls a key, token, secret or password:
 * commands and plugins have theirs there. Better one value too many than one too few, but no plain word.
 */
import type { Environment } from "./env-file.ts";
import { type Settings, valueAt } from "./settings.ts";
import { SETTINGS } from "./settings-table.ts";

const SECRET_NAME = /(?:^|_)(?:\w*KEY|TOKEN|AUTH|PAT|PASS|PASSPHRASE|CREDENTIALS?|DSN)$|SECRET|PASSWORD|PASSWD/i;
/** Our own settings are known: what is not marked secret is none, whatever its name. */
const PUBLIC_NAMES = new Set(SETTINGS.filter((row) => !row.secret).flatMap((row) => row.environment));

/** A plain word or a short number (`DB_PASSWORD=example`): taking it out of every text would take the texts apart. */
const WORD = /^(?:\p{L}+|\d{1,7}|.{1,5})$/u;

export function secretsOf(settings: Settings, ...environments: readonly Environment[]): readonly string[] {
  const values = SETTINGS.filter((row) => row.secret).map((row) => valueAt(settings, row.name));
  for (const [name, value = ""] of environments.flatMap((environment) => Object.entries(environment))) {
    if (SECRET_NAME.test(name) && !PUBLIC_NAMES.has(name)) values.push(value);
    values.push(...passwordIn(value));
  }
  const secrets = values.filter((value) => typeof value === "string").map((value) => value.trim());
  return [...new Set(secrets)].filter((value) => value !== "" && !WORD.test(value));
}

/** `postgres://user:password@host`, as it stands there and decoded. */
function passwordIn(value: string): readonly string[] {
  const password = /^[a-z][a-z\d+.-]{0,20}:\/\/[^/?#\s:@]{0,200}:([^/?#\s@]{1,200})@/i.exec(value)?.[1];
  if (password === undefined) return [];
  return URL.canParse(value) ? [password, decoded(password)] : [password];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
