/** empty-recording.ts -- a recording of nothing: its head, its session, and what was committed. */
const agent = { id: "t", createdAt: "2026-01-01T00:00:00.000Z" };
const run = { epoch: 1, head: 1, settings: {}, catalogue: "", files: [] };
export const EMPTY_RECORDING = [
  { recording: 1, goald: "0.1.0" },
  { type: "session", agent, name: "T", role: "r", goals: ["g"], given: {}, ...run },
  { type: "committed", head: 1, state: "" },
];
