/**
 * relay-openai.child.ts -- loaded by `node --import`: sends requests for OpenAI's own server to a test's server.
 *
 * RELAY_OPENAI_TO is the base URL of that server, ending in /v1.
 */
const target = process.env.RELAY_OPENAI_TO ?? "";
const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = typeof input === "object" && "url" in input ? input.url : String(input);
  return send(url.replace(/^https:\/\/api\.openai\.com\/v1/, target), init);
};
