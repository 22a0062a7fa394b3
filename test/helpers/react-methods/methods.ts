/**
 * methods.ts -- the fifteen methods of seed 001, as unlisted commands or as Python helpers of a home, and the services that they ask, on
 * loopback.
 *
 * The services know three places, two Slack channels, one picture and the prices of one stock. No task asks for an emoji,
 * a translation or a rate.
 */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type ServiceServer, startServiceServer } from "../service-servers.ts";
import { type Picture, writePng } from "./commands/_picture.ts";

/** The folder of the command files. They find their services by the file `_origin` beside them. */
export const REACT_METHODS = join(import.meta.dirname, "commands");

/** Commands of which Python helpers make their methods; they are none of the fifteen. */
const WAYS_OUT: readonly string[] = ["ask_service", "post_message"];
export const isSeedMethod = ({ name }: { readonly name: string }): boolean => !WAYS_OUT.includes(name);

/** Copies the methods into the commands folder of a home. `origin`: address of the services. */
export async function writeReactMethods(commandsFolder: string, origin: string): Promise<void> {
  await cp(REACT_METHODS, commandsFolder, {
    recursive: true,
    filter: (file) => isSeedMethod({ name: basename(file, ".ts") }),
  });
  await writeFile(join(commandsFolder, "_origin"), origin);
}

/** Writes the methods as Python helpers of a home. Three unlisted commands are their way to the services. */
export async function writePythonMethods(home: string, origin: string): Promise<void> {
  const commands = join(home, "commands");
  await cp(join(import.meta.dirname, "python"), join(home, "methods"), { recursive: true });
  await mkdir(commands, { recursive: true });
  for (const name of [...WAYS_OUT, "_service"])
    await cp(join(REACT_METHODS, `${name}.ts`), join(commands, `${name}.ts`));
  const picture = await readFile(join(REACT_METHODS, "download_image.ts"), "utf8");
  await writeFile(join(commands, "fetch_picture.ts"), picture.replace('"download_image"', '"fetch_picture"'));
  await writeFile(join(commands, "_origin"), origin);
}

export const CHANNELS = [
  { id: "C0451", name: "general" },
  { id: "C0998", name: "experimenting-with-simple-ai-agents" },
];
const PLACES: Readonly<Record<string, { readonly latitude: number; readonly longitude: number }>> = {
  london: { latitude: 51.5074, longitude: -0.1278 },
  berlin: { latitude: 52.52, longitude: 13.405 },
  portland: { latitude: 45.5152, longitude: -122.6784 },
};
/** 8 x 6 pixels, each of another colour. */
const NASA_PICTURE: Picture = {
  width: 8,
  height: 6,
  pixels: Uint8Array.from({ length: 8 * 6 * 3 }, (_, at) => (at * 37) % 256),
};
const DAY_MS = 86_400_000;

export interface ReactServices extends ServiceServer {
  /** Bodies that were posted to Discord and Slack, in order, with the path of each. */
  readonly sent: readonly { readonly path: string; readonly body: Readonly<Record<string, unknown>> }[];
}

export async function startReactServices(): Promise<ReactServices> {
  const sent: { path: string; body: Record<string, unknown> }[] = [];
  const server = await startServiceServer((request) => {
    const { pathname, searchParams } = new URL(request.path, server.origin);
    if (pathname === "/picture.png")
      return { status: 200, headers: { "content-type": "image/png" }, body: Buffer.from(writePng(NASA_PICTURE)) };
    if (request.method === "POST") {
      const body = JSON.parse(request.body.toString("utf8")) as Record<string, unknown>;
      sent.push({ path: pathname, body });
      return json(pathname === "/slack/messages" && !isChannel(body.channel_id) ? undefined : "sent");
    }
    return json(answerOf(pathname.slice(1), Object.fromEntries(searchParams), server.origin));
  });
  return Object.assign(server, { sent });
}

const isChannel = (id: unknown): boolean => CHANNELS.some((channel) => channel.id === id);
const json = (value: unknown) =>
  value === undefined
    ? { status: 404, headers: { "content-type": "text/plain" }, body: "not found" }
    : { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };

type Query = Readonly<Record<string, string>>;

function answerOf(path: string, query: Query, origin: string): unknown {
  switch (path) {
    case "slack/channels":
      return CHANNELS;
    case "coordinates":
      return PLACES[(query.place ?? "").toLowerCase().split(",")[0] ?? ""];
    case "weather":
      return isKnownPlace(query) ? { temperature: 11.5, conditions: "light rain" } : undefined;
    case "forecast":
      return isKnownPlace(query) ? forecastOf(Number(query.days)) : undefined;
    case "apod":
      return {
        title: "The Pillars of Creation",
        explanation: "Columns of cold gas and dust in the Eagle Nebula, 6,500 light years away.",
        url: `${origin}/picture.png`,
      };
    case "stocks":
      return query.symbol === "MSFT" ? pricesBetween(query.first_day ?? "", query.last_day ?? "") : undefined;
    default:
      return undefined;
  }
}

const isKnownPlace = ({ latitude, longitude }: Query): boolean =>
  Object.values(PLACES).some((place) => place.latitude === Number(latitude) && place.longitude === Number(longitude));

const SKIES = ["sunny", "cloudy", "light rain", "thunderstorm", "snow"];
const FIRST_DAY = "2026-11-23";
const forecastOf = (days: number) =>
  Array.from({ length: Math.min(14, days) }, (_, day) => ({
    date: dayAfter(FIRST_DAY, day),
    temperature: 12 - 2 * day,
    conditions: SKIES[day % SKIES.length],
  }));

/** Closing prices of the days that are not on a weekend. They wave around 400, and are lowest on LOWEST_DAY. */
const LOWEST_DAY = "2026-10-14";
function pricesBetween(first: string, last: string) {
  const days = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(0, Math.min(400, days)) }, (_, day) => dayAfter(first, day))
    .filter((date) => ![0, 6].includes(new Date(date).getUTCDay()))
    .map((date) => ({ date, close: date === LOWEST_DAY ? 371.25 : 400 + ((Date.parse(date) / DAY_MS) % 17) }));
}

const dayAfter = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);

// ---------------------------------------------------------------- many more

const VERBS = words("archive approve assign audit cancel close compare export import label merge publish rank rename");
const NOUNS = words("invoice contract shipment ticket payroll warehouse recipe lesson flight hotel patient molecule");
const PLACES_OF_WORK = words("ledger queue catalogue register archive");

function words(text: string): readonly string[] {
  return text.split(" ");
}

/** Names and summaries of up to 840 other methods a number; more of them get one. */
export const describeMany = (count: number) =>
  Array.from({ length: count }, (_, at) => {
    const [verb, rest] = [VERBS[at % VERBS.length], Math.floor(at / VERBS.length)];
    const [noun, later] = [NOUNS[rest % NOUNS.length], Math.floor(rest / NOUNS.length)];
    const [place, number] = [PLACES_OF_WORK[later % PLACES_OF_WORK.length], Math.floor(later / PLACES_OF_WORK.length)];
    const name = `${verb}_${noun}_in_${place}${number === 0 ? "" : `_${number}`}`;
    return {
      name,
      summary: `${verb}s one ${noun} in the ${place}${number === 0 ? "" : ` of branch ${number}`}.`,
      noun,
    };
  });

/** Writes unlisted commands that do nothing. */
export async function writeManyMethods(commandsFolder: string, count: number): Promise<void> {
  await mkdir(commandsFolder, { recursive: true });
  for (const { name, summary, noun } of describeMany(count)) {
    const args = {
      type: "object",
      properties: { [`${noun}_id`]: { type: "string", description: `id of the ${noun}` } },
    };
    const fields = {
      name,
      summary,
      listed: false,
      args,
      effect: "pure",
      annotations: { readOnly: true, openWorld: false },
    };
    const source = `export default { ...${JSON.stringify(fields)}, run: async () => "done" };\n`;
    await writeFile(join(commandsFolder, `${name}.js`), source);
  }
}
