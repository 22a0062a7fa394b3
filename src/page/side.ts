/** side.ts -- beside an agent's work: its limits, plan, goals, helpers and files, and whose words it read. */
import { at, get } from "./api.ts";
import { useLoaded } from "./hooks.ts";
import { html, useState } from "./html.ts";
import { AgentMark, Bar, type Children, fileLink, Problem, StepLink } from "./parts.ts";
import { findAgent, host, pulseOf } from "./store.ts";
import type { Agent, Details, Limit, MemorySearch, PlanView, TaskView } from "./types.ts";
import { compact, counted, money, size, span } from "./words.ts";

const LATEST = 5;

export function Side({ agent, details, isNarrow }: { agent: Agent; details: Details; isNarrow: boolean }) {
  const [plan] = useLoaded(() => get<PlanView>(at(agent.id, "/plan")), [agent.id, pulseOf(agent)]);
  const { id, parent, received, budget, costUsd } = agent;
  const { goals, files, limits } = details;
  const own = files.filter(({ path }) => !path.startsWith("pages/")).sort((a, b) => (a.at < b.at ? 1 : -1));
  const helpers = host.agents.filter((each) => each.parent === id);
  const above = parent === null ? [] : [findAgent(parent) ?? []].flat();
  const relatives = (of: readonly Agent[]): Children =>
    of.map(
      (each) =>
        html`<${Line} mark=${html`<${AgentMark} agent=${each} />`} href=${`#/a/${each.id}`} words=${each.name}
          end=${money(each.costUsd)} />`,
    );
  const body = html`<${Part} title="Limits">${limits.map((limit) => html`<${LimitLine} limit=${limit} />`)}
      <${Line} words=${`${compact(agent.tokens)} tokens`} end=${counted(details.usage.modelCalls, "request")} />
      </${Part}>
    ${
      plan?.plan &&
      html`<${Part} title="Plan"><${Task} task=${plan.plan} current=${plan.current} />
      ${!plan.isRead && html`<li class="muted">It reads your changes in its next step.</li>`}</${Part}>`
    }
    <${Part} title="Goals">${goals.map((goal, n) => html`<li>${goal}<${Checks} details=${details} goal=${n} /></li>`)}
    </${Part}>
    ${above.length > 0 && html`<${Part} title="Helper of">${relatives(above)}</${Part}>`}
    ${helpers.length > 0 && html`<${Part} title="Helpers">${relatives(helpers)}</${Part}>`}
    ${
      files.length > 0 &&
      html`<${Part} title="Latest files">${own.slice(0, LATEST).map(
        ({ path, bytes }) => html`<${Line}
        href=${fileLink(id, path)} words=${path} end=${size(bytes)} />`,
      )}
      ${
        files.length > own.length &&
        html`<li class="muted">
      ${counted(files.length - own.length, "page")} kept from the web</li>`
      }</${Part}>`
    }
    ${
      received.length > 0 &&
      html`<${Part} title="Read from outside">${received.map(
        ({ name, step }) => html`<${Line}
        words=${name || "unknown"} end=${html`<${StepLink} of=${id} step=${step} />`} />`,
      )}</${Part}>`
    }
    <${Memory} id=${id} />`;
  if (!isNarrow) return html`<aside aria-label="About this agent">${body}</aside>`;
  const cost = budget ? `${money(costUsd)} of ${money(budget.allowedUsd)}` : money(costUsd);
  const summary = [cost, plan?.plan && "plan", counted(goals.length, "goal"), counted(own.length, "file")].filter(
    Boolean,
  );
  return html`<details class="panel"><summary class="sub tab">${summary.join(" · ")}</summary>${body}</details>`;
}

/** Finds what the agent would recall for some words. */
function Memory({ id }: { id: string }) {
  const [query, setQuery] = useState("");
  const path = at(id, `/memory/search?limit=5&query=${encodeURIComponent(query)}`);
  const [found, problem] = useLoaded(async () => (query === "" ? null : get<MemorySearch>(path)), [path]);
  const search = (event: Event): void => {
    event.preventDefault();
    setQuery(String(new FormData(event.currentTarget as HTMLFormElement).get("query")).trim());
  };
  return html`<${Part} title="Memory"><li><form onSubmit=${search}><input type="search" name="query"
    aria-label="Search its memory" placeholder="Search its memory…" /></form><${Problem} problem=${problem} /></li>
    ${found?.recalls.map(
      ({ kind, trust, step, text, excerpt = text }) => html`<li><p class="sub kept" title=${text}>${excerpt}</p>
      <small>${kind}, ${trust} ${step !== null && html`· <${StepLink} of=${id} step=${step} />`}</small></li>`,
    )}
    ${found?.recalls.length === 0 && html`<li class="muted">It remembers nothing like that.</li>`}</${Part}>`;
}

const Part = ({ title, children }: { title: string; children: Children }) =>
  html`<section class="part"><h2>${title}</h2><ul>${children}</ul></section>`;

const Line = ({
  mark,
  href,
  words,
  end,
}: {
  mark?: Children;
  href?: string;
  words: string;
  end: Children;
}) => html`<li class="flex">${mark}
  <span class="grow cut">${href ? html`<a href=${href}>${words}</a>` : words}</span><span class="muted small tab">
    ${end}</span></li>`;

const NAMES = {
  steps: ["Steps", String],
  tokens: ["Tokens", compact],
  usd: ["Budget", money],
  time: ["Time", span],
} as const;
const LimitLine = ({ limit: { limit, allowed, spent, used, left } }: { limit: Limit }) => {
  const [name, show] = NAMES[limit];
  if (limit === "time") return html`<${Line} words=${name} end=${left > 0 ? `${span(left)} left` : "over"} />`;
  const aside = used > spent ? `${show(used - spent)} more is set aside for helpers and the work under way` : null;
  return html`<li class="flex" title=${aside}><span class="limit">${name}</span><${Bar} spent=${spent}
    reserved=${used - spent}
    allowed=${Number(allowed)} label=${name} /><span class="tab">${show(spent)}<small> of ${show(Number(allowed))}
    </small></span></li>`;
};

const TASKS = { open: "○", in_progress: "◐", completed: "✓", verified: "✓", abandoned: "–" } as const;
const Task = ({
  task: { id, goal, state, subtasks },
  current,
}: {
  task: TaskView;
  current: string | null;
}) => html`<li class=${`task ${state}`}>
  <span class="muted" role="img" aria-label=${state.replace("_", " ")}>${TASKS[state]}
    </span> <span class=${id === current && "name"}>${goal}</span>
  ${
    subtasks.length > 0 &&
    html`<ul>${subtasks.map(
      (each) => html`<${Task} key=${each.id} task=${each}
    current=${current} />`,
    )}</ul>`
  }</li>`;

/** The checks of one goal; those of all goals are below the first. */
const Checks = ({ details: { checks }, goal }: { details: Details; goal: number }) =>
  checks
    .filter((check) => (check.goal ?? 0) === goal)
    .map(
      ({ check, isPassed, proof }) => html`<small
    class=${isPassed === false && "bad"} title=${proof}>${isPassed === null ? "○" : isPassed ? "✓" : "✕"} ${check}
    </small>`,
    );
