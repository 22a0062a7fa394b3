/** demo-web.ts -- sends every request for a public address to the demo server, which plays the recording. */
import type { Http, PublicInit } from "#http/http.ts";
import { webPath } from "./demo-server.ts";

/** `origin`: address of the demo server. Requests to configured servers do not change. */
export const throughRecording = (http: Http, origin: string): Http => ({
  to: (server, limits) => http.to(server, limits),
  public: (limits) => async (input: string | URL, init?: PublicInit) => {
    const url = String(input);
    const { redirect: _byHand, ...rest } = init ?? {};
    const response = await http.to(origin, limits)(`${origin}${webPath(url)}`, rest);
    return Object.defineProperty(response, "url", { value: url, configurable: true });
  },
});
