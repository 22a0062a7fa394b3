/** side.ts -- beside an agent's work: its limits, plan, goals, helpers and files, and whose words it read. */
import { at } from "./api.ts";
import { type Children, html, useLoaded, useState } from "./html.ts";
import { AgentMark, Bar, fieldText, fileLink, Origin, Problem, StepLink } from "./parts.ts";
import { host, pulseOf } from "./store.ts";
import type { Agent, Details, LatestFile, Limit, MemorySearch, PlanView, TaskView } from "./types.ts";
import { compact, counted, money, placeOf, size, span } from "./words.ts";

export function Side({ agent, details, isNarrow }: { agent: Agent; details: Details; isNarrow: boolean }) {
  const [plan] = useLoaded<PlanView>(at(agent.id, "/plan"), pulseOf(agent));
  const { id, parent, received, budget, costUsd } = agent;
  const { goals, files, limits } = details;
  const own = files.filter(({ path }) => !path.startsWith("pages/")).sort((a, b) => (a.at < b.at ? 1 : -1));
  const helpers = host.agents.filter((each) => each.parent === id);
  const above = host.agents.filter((each) => each.id === parent);
  const relative = (each: Agent) =>
    html`<${Line} mark=${html`<${AgentMark} agent=${each} />`} href=${`#/a/${each.id}`} words=${each.name}
      end=${money(each.costUsd)} />`;
  const file = ({ path, bytes }: LatestFile) =>
    html`<${Line} href=${fileLink(id, path)} words=${path} end=${size(bytes)} />`;
  const source = ({ name, step }: Agent["received"][number]) =>
    html`<${Line} words=${placeOf(name)} end=${html`<${StepLink} of=${id} step=${step} />`} />`;
  const task = plan?.plan && html`<${Task} task=${plan.plan} current=${plan.current} />`;
  const unread = plan?.isRead === false && html`<li class="muted">It reads your changes in its next step.</li>`;
  const pages = files.length > own.length && `${counted(files.length - own.length, "page")} kept from the web`;
  const latest = [...own.slice(0, 5).map(file), pages && html`<li class="muted">${pages}</li>`];
  const body = html`<${Part} title="Limits">${limits.map((limit) => html`<${LimitLine} limit=${limit} />`)}
      <${Line} words=${`${compact(agent.tokens)} tokens`} end=${counted(details.usage.modelCalls, "request")} />
    </${Part}>
    ${task && html`<${Part} title="Plan">${task}${unread}</${Part}>`}
    <${Part} title="Goals">${goals.map((goal, n) => html`<li>${n + 1}. ${goal}${checksOf(details, n)}</li>`)}</${Part}>
    ${above.length > 0 && html`<${Part} title="Helper of">${above.map(relative)}</${Part}>`}
    ${helpers.length > 0 && html`<${Part} title="Helpers">${helpers.map(relative)}</${Part}>`}
    ${files.length > 0 && html`<${Part} title="Latest files">${latest}</${Part}>`}
    ${received.length > 0 && html`<${Part} title="Read from outside">${received.map(source)}</${Part}>`}
    <${Memory} id=${id} />`;
  if (!isNarrow) return html`<aside class="stack" aria-label="About this agent">${body}</aside>`;
  const cost = budget ? `${money(budget.spentUsd)} of ${money(budget.allowedUsd)}` : money(costUsd);
  const parts = [cost, plan?.plan && "plan", counted(goals.length, "goal"), counted(own.length, "file")];
  const summary = parts.filter(Boolean).join(" · ");
  return html`<details class="stack"><summary class="panel">${summary}</summary>${body}</details>`;
}

function Memory({ id }: { id: string }) {
  const [query, setQuery] = useState("");
  const path = at(id, `/memory/search?limit=5&query=${encodeURIComponent(query)}`);
  const [found, problem] = useLoaded<MemorySearch>(query === "" ? null : path);
  const search = (event: Event): void => setQuery(fieldText(event));
  const recall = ({ text, excerpt = text, ...memory }: MemorySearch["recalls"][number]) => html`<li>
    <p class="kept" title=${text}>${excerpt}</p><small><${Origin} of=${id} memory=${memory} /></small></li>`;
  const none = html`<li class="muted">It remembers nothing like that.</li>`;
  return html`<${Part} title="Memory"><li class="flex"><input type="search" class="grow" aria-label="Search its memory"
      placeholder="Search its memory…" onChange=${search} /><${Problem} problem=${problem} /></li>
    ${found?.recalls.map(recall)}${found?.recalls.length === 0 && none}</${Part}>`;
}

const Part = ({ title, children }: { title: string; children: Children }) =>
  html`<section class="part"><h2 class="muted small">${title}</h2><ul>${children}</ul></section>`;

function Line({ mark, href, words, end }: { mark?: Children; href?: string; words: string; end: Children }) {
  const tag = href ? "a" : "span";
  return html`<li class="flex">${mark}<${tag} class="grow cut" href=${href}>${words}</${tag}><small>${end}</small></li>`;
}

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
  const most = Number(allowed);
  return html`<${Line} words=${name} end=${`${show(spent)} of ${show(most)}`} />
    <li title=${aside}><${Bar} label=${name} spent=${spent} used=${used} allowed=${most} /></li>`;
};

const TASKS = { open: "○", in_progress: "◐", completed: "✓", verified: "✓", abandoned: "–" } as const;
function Task({ task: { id, goal, state, subtasks }, current }: { task: TaskView; current: string | null }) {
  const below = subtasks.map((each) => html`<${Task} key=${each.id} task=${each} current=${current} />`);
  return html`<li>
    <span class="muted" role="img" aria-label=${state.replace("_", " ")}>${TASKS[state]}</span>${" "}
    ${id === current ? html`<b>${goal}</b>` : goal}${below.length > 0 && html`<ul>${below}</ul>`}</li>`;
}

/** The checks of one goal; those of all goals are below the first. */
const checksOf = ({ checks }: Details, goal: number): readonly Children[] =>
  checks
    .filter((check) => (check.goal ?? 0) === goal)
    .map(({ check, isPassed, proof }) => {
      const sign = isPassed === null ? "○" : isPassed ? "✓" : "✕";
      return html`<p class=${isPassed === false ? "small bad" : "small muted"} title=${proof}>${sign} ${check}</p>`;
    });
