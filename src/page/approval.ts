/** approval.ts -- one command that waits for a person: why it asks, whose words it read, all of it, then the answer. */
import { at, post } from "./api.ts";
import { html, useSeen } from "./html.ts";
import { Act, Ago, Empty, Outside, Pairs, StepLink, useSwitch, Wish, Words } from "./parts.ts";
import { host, isAway, isStill } from "./store.ts";
import { Args, Changed, Code, Diff } from "./texts.ts";
import type { Agent, Waiting } from "./types.ts";
import { counted, placesOf, showHidden } from "./words.ts";

export function ApprovalScreen({ agent: { id, name } }: { agent: Agent }) {
  const items = host.waiting.filter(({ kind }) => kind === "approval");
  const place = items.findIndex(({ agent }) => agent === id);
  const item = items[place];
  if (!item)
    return html`<${Empty} title=${`${name} waits for no approval`}><p>It was answered, or it has expired.${" "}
      <a href=${`#/a/${id}`}>See what ${name} does</a> or <a href="#/">go home</a>.</p></${Empty}>`;
  const next = items.length > 1 ? items[(place + 1) % items.length] : undefined;
  return html`<div class="page stack"><p class="flex muted small">
      Approval ${next && `${place + 1} of ${items.length}`}
      ${next && html`<a class="end" href=${`#/a/${next.agent}/approve`}>Next: ${next.name}</a>`}</p>
    <${Card} key=${`${item.agent} ${item.callId}`} item=${item} next=${next} /></div>`;
}

function Card({ item, next }: { item: Waiting; next: Waiting | undefined }) {
  const { agent, step, since, until, reason, received, files, thought } = item;
  // The same call against another file has to be looked at anew.
  const { element, isSeen, more } = useSeen(`${item.change?.against}`);
  const places = files.map(({ path, outside }) => `${showHidden(path)} holds words from ${placesOf(outside)}. `);
  const isOutside = received.length + files.length > 0;
  const expires = until && `; counts as denied at ${new Date(until).toLocaleString()}`;
  const facts = {
    "Asks because": reason,
    "Outside words": isOutside && html`<${Outside} item=${item} />${places}What follows may repeat them.`,
    "Its thought": thought,
    Waiting: html`<${Ago} at=${since} />, in <${StepLink} of=${agent} step=${step} />${expires}`,
  };
  return html`<h1><${Wish} item=${item} /></h1><${Pairs} of=${facts} />
    <section ref=${element} class="whole"><${Content} item=${item} /></section>
    <${Answer} item=${item} next=${next} isSeen=${isSeen} onMore=${more} />`;
}

/** The whole of what would happen: the changes to a file, the code that would run, and every other argument. */
function Content({ item: { command, code, change } }: { item: Waiting }) {
  const [part, parts] = useSwitch("What is shown", ["changes", "whole command"]);
  const lines = counted(code?.text.trimEnd().split("\n").length ?? 0, "line");
  const hash = code?.sha256 && `, sha256 ${code.sha256.slice(0, 12)}`;
  const against = change?.against ? `made against sha256 ${change.against.slice(0, 12)}` : "new file";
  const note = code ? `${lines}${hash ?? ""}. Exactly this runs, in the sandbox.` : "all of its arguments";
  const isDiff = !code && change?.patch;
  const text = code && !Object.values(command.args).includes(code.text) && html`<${Code} text=${code.text} />`;
  const all = html`${text}<${Args} args=${command.args} />`;
  return html`<div class="flex"><b><code>${showHidden(change?.path ?? code?.file ?? command.name)}</code></b>
      ${isDiff && html`<${Changed} ...${change} />`}
      <span class="muted small" title=${change?.against}>${isDiff ? against : note}</span>
      ${isDiff && html`<span class="end">${parts}</span>`}</div>
    ${isDiff && part === "changes" ? html`<${Diff} patch=${isDiff} />` : all}`;
}

type AnswerProps = Readonly<{ item: Waiting; next: Waiting | undefined; isSeen: boolean; onMore: () => void }>;
function Answer({ item: { agent, name, callId, change }, next, isSeen, onMore }: AnswerProps) {
  const isOff = !isStill();
  const send = async (rest: string, body: object): Promise<void> => {
    await post(at(agent, rest), body);
    location.hash = next ? `#/a/${next.agent}/approve` : "#/";
  };
  const deny = (text: string): Promise<void> => send("/approval", { callId, verdict: "denied", ...(text && { text }) });
  const approve = (fields: FormData): Promise<void> => {
    const more = Number(fields.get("more"));
    const seen = change && { seen: change.against };
    return send("/approval", { callId, verdict: "approved", ...seen, ...(more > 0 && { count: more + 1 }) });
  };
  // No key approves.
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") event.preventDefault();
  };
  const pause = (): Promise<void> => send("/pause", { reason: "Paused on the page." });
  return html`<footer class="answer flex">
    ${!isSeen && html`<button class="below" onClick=${onMore}>More below ↓</button>`}
    <${Act} words="Approve" look="primary" isOff=${isOff || !isSeen}
      title=${isSeen ? null : "First look at the whole command"} act=${approve}>
      <label class="flex muted small">and its next
        <input type="number" name="more" min="0" max="999" defaultValue="0" onKeyDown=${press} />
        commands, unseen</label></${Act}>
    <span class="grow"></span><${Act} words="Pause" isOff=${isOff} act=${pause} />
    <button popovertarget="deny" disabled=${isOff || isAway()}>Deny…</button>
    <div popover id="deny" class="panel">
      <${Words} agent=${agent} callId=${callId} label=${`Say what ${name} should do instead`} button="Deny"
        onDeny=${deny} /></div></footer>`;
}
