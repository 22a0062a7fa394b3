/** recorded-web.ts -- the web as the demo has it: every public address is asked of the server that plays the recording. */
import type { Http, PublicInit } from "#http/http.ts";
import { webPath } from "./demo-server.ts";

/** `origin`: of the replay server. Configured servers are asked as ever. */
export const throughRecording = (http: Http, origin: string): Http => ({
  to: (server, limits) => http.to(server, limits),
  public: (limits) => async (input: string | URL, init?: PublicInit) => {
    const url = String(input);
    const { redirect: _byHand, ...rest } = init ?? {};
    const response = await http.to(origin, limits)(`${origin}${webPath(url)}`, rest);
    return Object.defineProperty(response, "url", { value: url, configurable: true });
  },
});
