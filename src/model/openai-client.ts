/**
 * openai-client.ts -- creates clients of the openai package, for images and speech.
 *
 * Loading takes 50 ms and 20 MB, so the package is loaded on first use. Its own retries, logs and environment variables
 * are off, so that only the settings decide what is sent.
 */
import type OpenAI from "openai";
import { type ModelServer, openFetch, parseBaseUrl, requireUsableKey } from "./model-server.ts";

/** Throws GOALD_CONFIG for an invalid base URL. */
export async function openClient(server: ModelServer): Promise<OpenAI> {
  const { baseUrl, apiKey, timeoutMs } = server;
  const fetch = openFetch(server);
  requireUsableKey(apiKey);
  const { OpenAI } = await import("openai");
  return new OpenAI({
    baseURL: parseBaseUrl(baseUrl).href,
    apiKey: apiKey || "none",
    ...(apiKey ? {} : { defaultHeaders: { Authorization: null } }),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: timeoutMs + 10_000, // longer than the HTTP timeout, whose error says more
    logLevel: "off",
    fetch,
  });
}
