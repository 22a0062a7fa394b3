/** The methods of seed 001 that other tests use, with their services on loopback. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ALL_READY, loadRegistry, type Registry } from "#commands/registry.ts";
import { readPng, redraw } from "../helpers/react-methods/commands/_picture.ts";
import {
  CHANNELS,
  LOWEST_DAY,
  NASA_PICTURE,
  type ReactServices,
  startReactServices,
  writeManyMethods,
  writeReactMethods,
} from "../helpers/react-methods/methods.ts";
import { type Desk, makeDesk } from "./context.ts";

let folder: string;
let services: ReactServices;
let registry: Registry;
let desk: Desk;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-methods-"));
  services = await startReactServices();
  await writeReactMethods(folder, services.origin);
  registry = await loadRegistry([folder], ALL_READY);
  desk = await makeDesk();
});
afterAll(async () => {
  await desk[Symbol.asyncDispose]();
  await services[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function use(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  const command = registry.get(name);
  if (!command) throw new Error(`there is no ${name}`);
  const observation = await command.run(args, { ...desk.context, callId: `c-${name}` }, null);
  return "value" in observation ? observation.value : observation;
}

describe("the fifteen methods", () => {
  it("are unlisted commands, each with the type of its value", () => {
    expect(registry.all).toHaveLength(15);
    for (const { listed, returns } of registry.all)
      expect([listed, returns?.type]).toEqual([false, expect.any(String)]);
  });

  it("answer from their services", async () => {
    const london = await use("find_coordinates", { place: "London, UK" });
    expect(london).toEqual({ latitude: 51.5074, longitude: -0.1278 });
    expect(await use("get_current_weather", london as object as Record<string, unknown>)).toEqual({
      temperature: 11.5,
      conditions: "light rain",
    });
    const forecast = await use("get_weather_forecast", { ...(london as object), days: 5 });
    expect((forecast as readonly { date: string }[]).map(({ date }) => date)).toEqual(
      ["23", "24", "25", "26", "27"].map((day) => `2026-11-${day}`),
    );
    const days = { symbol: "MSFT", first_day: "2026-08-23", last_day: "2026-11-23" };
    const prices = (await use("get_stock_prices", days)) as readonly { date: string; close: number }[];
    const [lowest] = prices.toSorted((a, b) => a.close - b.close);
    expect(lowest?.date).toBe(LOWEST_DAY);
    expect(await use("list_slack_channels")).toEqual(CHANNELS);
    expect(await use("translate_text", { text: "hello", language: "German" })).toBe("[German] hello");
    expect(await use("get_exchange_rate", { base: "EUR", currency: "USD" })).toBe(1.09);
    expect(await use("describe_emoji", { emoji: "☀" })).toBe("an emoji: ☀");
  });

  it("fail for coordinates that nobody looked up, and for a channel that does not exist", async () => {
    await expect(use("get_current_weather", { latitude: 48.8566, longitude: 2.3522 })).rejects.toThrow(/answered 404/);
    await expect(use("send_slack_message", { msg: "hi", channel_id: "general" })).rejects.toThrow(/answered 404/);
  });

  it("download, shrink, rotate and send a picture", async () => {
    const { url } = (await use("get_nasa_astronomy_picture_of_the_day")) as { readonly url: string };
    const image = await use("download_image", { url });
    const picture = async (path: unknown) => readPng(await readFile(join(desk.folder, String(path))));
    expect(await picture(image)).toEqual(NASA_PICTURE);
    const small = await use("shrink_image", { image, ratio: 0.5 });
    expect(await picture(small)).toEqual(redraw(NASA_PICTURE, 4, 3, (x, y) => [2 * x, 2 * y]));
    const turned = await picture(await use("rotate_image", { image, degrees: 90 }));
    expect([turned.width, turned.height]).toEqual([6, 8]);
    await use("send_message_discord", { msg: "Hello from Space!", image: small });
    await use("send_slack_image", { img: small, msg: "look", channel: "general" });
    const [discord, slack] = services.sent.slice(-2);
    expect(discord).toMatchObject({ path: "/discord", body: { msg: "Hello from Space!" } });
    expect(readPng(Buffer.from(String(discord?.body.image), "base64"))).toMatchObject({ width: 4, height: 3 });
    expect(slack).toMatchObject({ path: "/slack/images", body: { msg: "look", channel: "general" } });
  });
});

describe("many methods more", () => {
  it("load as unlisted commands with names of their own", async () => {
    await writeManyMethods(join(folder, "many"), 60);
    const { all } = await loadRegistry([join(folder, "many")], ALL_READY);
    expect(all).toHaveLength(60);
    expect(all.every(({ listed }) => listed === false)).toBe(true);
  });
});
