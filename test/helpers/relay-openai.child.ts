/**
 * relay-openai.child.ts -- loaded into goald by `node --import`: what it asks of OpenAI's own server goes to a test's server.
 *
 * RELAY_OPENAI_TO is the base URL of that, ending in /v1. No test asks the real one.
 */
const target = process.env.RELAY_OPENAI_TO ?? "";
const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = typeof input === "object" && "url" in input ? input.url : String(input);
  return send(url.replace(/^https:\/\/api\.openai\.com\/v1/, target), init);
};
