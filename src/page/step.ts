/** step.ts -- a step of an agent: its row in the timeline, and the whole of it below when it is opened. */
import { at, post } from "./api.ts";
import { useLoaded } from "./hooks.ts";
import { html, useMemo, useState } from "./html.ts";
import { Act, Call, fileLink, Mark, Pairs, Pending } from "./parts.ts";
import { Args, Code } from "./texts.ts";
import type { StepPage, WholeStep } from "./types.ts";
import { cents, clockOf, compact, counted, describeCall, span, textOf } from "./words.ts";

export type StepRow = StepPage["steps"][number];

const RESULTS = { ok: "done", failed: "failed", denied: "failed", cancelled: "over", unknown: "stuck" } as const;

interface StepProps {
  readonly agent: string;
  readonly row: StepRow;
  /** The mark while there is no result. */
  readonly look: "running" | "asks" | "over";
  /** The address of the page names it: it is open at first. */
  readonly isNamed: boolean;
}
export function Step({ agent, row, look, isNamed }: StepProps) {
  const [isOpen, setOpen] = useState(isNamed);
  const { step, command, subject, thought, status, files, startedAt, endedAt, costUsd } = row;
  const named = command && describeCall(command, subject)[1];
  const made = files
    .filter((file) => file !== named && !file.startsWith("pages/"))
    .map((file) => file.split("/").at(-1));
  const toggle = (event: ToggleEvent): void => setOpen(event.newState === "open");
  const what = command ? html`<${Call} command=${command} subject=${subject} />` : "No command";
  return html`<li class="step-row" id=${`step-${step}`}>
    <details open=${isOpen} onToggle=${toggle}><summary class="entry" data-row>
      <span class="num muted small">${step}</span>
      <${Mark} look=${status ? RESULTS[status] : look} label=${status ?? "under way"} />
      <span><span class=${status === "failed" ? "bad cut" : "cut"}>${what}</span><small class="cut">${thought}</small>
        <${Badges} row=${row} /></span>
      <code class="wide sub cut">${made.slice(0, 2).join(" ")}${made.length > 2 && ` +${made.length - 2}`}</code>
      <span class="wide num muted small" title=${new Date(startedAt).toLocaleString()}>${clockOf(startedAt)}</span>
      <span class="num muted small">${status && span(Date.parse(endedAt) - Date.parse(startedAt))}</span>
      <span class="wide num muted small">${costUsd ? cents(costUsd) : ""}</span></summary>
    ${isOpen && html`<${Opened} agent=${agent} row=${row} />`}</details></li>`;
}

const CRASH = "The process that ran it died. The outcome was checked before anything was repeated.";
function Badges({ row: { interruptions, attempts, approval, status } }: { row: StepRow }) {
  const end = status ? `then ${status}` : "being checked";
  return html`<span class="flex wrap small">
    ${interruptions > 0 && html`<span class="badge bad" title=${CRASH}>crash, ${end}</span>`}
    ${attempts > 1 && html`<span class="badge" title="Requests to the model">model asked ${attempts} times</span>`}
    ${approval && html`<span class=${approval === "denied" ? "badge bad" : "badge"}>${approval} by you</span>`}</span>`;
}

function Opened({ agent, row: { step, endedAt, status } }: Pick<StepProps, "agent" | "row">) {
  const [whole, problem] = useLoaded<WholeStep>(at(agent, `/steps/${step}`), endedAt, status);
  if (!whole) return html`<${Pending} problem=${problem} />`;
  const { thoughts, thought, command, result, files } = whole;
  const { reasoning, plan, criticism } = thoughts ?? {};
  const paths = [...new Set([...files.map(({ path }) => path), ...(result?.artifacts ?? [])])];
  return html`<div class="opened stack"><${Figures} whole=${whole} /><${Pairs}
    of=${{ thought: thoughts?.text || thought, reasoning, plan, criticism }} />
    ${remarksOf(whole).map((remark) => html`<p class="sub small">${remark}</p>`)}
    ${command && html`<h3 class="muted small">${command.name}</h3><${Args} args=${command.args} />`}
    ${result && html`<h3 class="muted small">Result</h3><${Code} text=${textOf(result.text)} />`}
    <p class="flex wrap small">${paths.map((path) => html`<a href=${fileLink(agent, path)}>${path}</a>`)}</p>
    <${Asked} whole=${whole} />${result && html`<${Fork} agent=${agent} step=${step} />`}</div>`;
}

/** Makes another agent with the state after this step; it is paused. */
function Fork({ agent, step }: { agent: string; step: number }) {
  const key = useMemo(() => crypto.randomUUID(), []);
  const fork = async (): Promise<void> => {
    const { id } = (await (await post(at(agent, "/fork"), { step, key })).json()) as { id: string };
    location.hash = `#/a/${id}`;
  };
  const title = "Makes a paused agent with the state after this step";
  return html`<${Act} words="Fork from here" title=${title} act=${fork} />`;
}

const Figures = ({ whole: { startedAt, reply, result, nested } }: { whole: WholeStep }) => {
  const tokens = (reply?.usage.inputTokens ?? 0) + (reply?.usage.outputTokens ?? 0);
  const model = reply && ` · model ${span(reply.durationMs)}, ${compact(tokens)} tokens`;
  const ran = result && ` · command ${span(result.durationMs)}`;
  const inside = nested.calls > 0 && ` · ${counted(nested.calls, "call")} inside`;
  return html`<p class="muted small">began ${clockOf(startedAt)}${model}${ran}${inside}</p>`;
};

/** What went wrong on the way, a sentence each. */
function remarksOf({ attempts, problems, interruptions, result, starts, approval }: WholeStep): readonly string[] {
  const then = result?.reconciled ? "found done" : starts.length > 1 ? "run again" : "not run again";
  const crash = interruptions > 0 ? [`A crash interrupted it, and it was ${then}. ${CRASH}`] : [];
  const failures = attempts.flatMap(({ failure }) => failure?.message ?? []);
  return [...failures, ...problems, ...crash, ...(approval.reason ? [`Denied: ${approval.reason}`] : [])];
}

function Asked({ whole: { prompt, recalls } }: { whole: WholeStep }) {
  const messages = prompt.messages.map(
    ({ role, content, calls }) =>
      html`<h3 class="muted small">${role}</h3><${Code} text=${content || JSON.stringify(calls ?? "", null, 1)} />`,
  );
  const memories = recalls.map(({ kind, trust, step, text }) => {
    const from = step === null ? "" : `, step ${step}`;
    return html`<h3 class="muted small">${kind}, ${trust}${from}</h3><p class="sub kept">${text}</p>`;
  });
  return html`<details><summary class="sub">Prompt, ${prompt.exact ? "exactly as it was sent" : "rebuilt"}</summary>
      <p class="muted small">${prompt.note}</p>${messages}</details>
    <details><summary class="sub">${counted(recalls.length, "recall")}</summary>${memories}</details>`;
}
