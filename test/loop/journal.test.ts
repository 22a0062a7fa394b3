import { describe, expect, it } from "@jest/globals";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import type { Store } from "#core/ports/store.ts";
import { type Journal, openJournal } from "#loop/journal.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { MemoryStore } from "../helpers/memory-store.ts";
import { replaceCommit } from "../helpers/power-cut.ts";

const said = (text: string): NewEvent => ({ type: "message-received", from: "Ann", text });

async function openIn(commit?: (store: MemoryStore) => Store["commit"]) {
  const store = new MemoryStore();
  const clock = fakeClock();
  const spec = { name: "Foo", role: "a tester", goals: ["Go"], approve: "never", stepLimit: 9 } as const;
  const { id } = await store.create(spec, "key", clock.now().toISOString());
  const shown: RecordedEvent[] = [];
  const journal: Journal = await openJournal(await store.claim(id), {
    store: commit ? replaceCommit(store, commit(store)) : store,
    clock,
    remember: async () => [],
    scrub: (text) => text,
    onCommitted: (events) => shown.push(...events),
  });
  const textsInLog = async () =>
    (await store.read(id, 0, 100)).flatMap((event) => ("text" in event ? [event.text] : []));
  const deliver = (text: string) =>
    store.deliver(id, text, { type: "say", from: "Ann", text }, clock.now().toISOString());
  return { journal, shown, textsInLog, deliver };
}

describe("a journal", () => {
  it("commits what is recorded while a commit is under way with the next one", async () => {
    let meanwhile = () => {};
    const { journal, shown, textsInLog } = await openIn((store) => async (...unit) => {
      meanwhile();
      meanwhile = () => {};
      await store.commit(...unit);
    });
    journal.record({ events: [said("one")] });
    meanwhile = () => journal.record({ events: [said("two")] });
    await journal.commit("now");
    expect(shown.map(({ seq }) => seq)).toEqual([2]);
    expect(await textsInLog()).toEqual(["one"]);
    await journal.commit("now");
    expect(await textsInLog()).toEqual(["one", "two"]);
    expect(shown.map(({ seq }) => seq)).toEqual([2, 3]);
  });

  it("receives a row of the inbox once, also while the commit that consumes it is under way", async () => {
    let meanwhile = async () => {};
    const { journal, textsInLog, deliver } = await openIn((store) => async (...unit) => {
      await meanwhile();
      await store.commit(...unit);
    });
    await deliver("one");
    await journal.receiveInbox();
    meanwhile = async () => {
      meanwhile = async () => {};
      await deliver("two");
      await journal.receiveInbox();
      await journal.receiveInbox();
    };
    await journal.commit("now");
    await journal.commit("now");
    await journal.receiveInbox();
    await journal.commit("now");
    expect(await textsInLog()).toEqual(["one", "two"]);
  });

  it("makes one commit at a time, in order", async () => {
    const { journal, textsInLog } = await openIn();
    const commits = ["one", "two", "three"].map((text) => {
      journal.record({ events: [said(text)] });
      return journal.commit("now");
    });
    await Promise.all(commits);
    expect(await textsInLog()).toEqual(["one", "two", "three"]);
  });

  it("keeps a draft whose commit failed, in front of what came meanwhile", async () => {
    let isFull = true;
    const { journal, textsInLog } = await openIn((store) => async (...unit) => {
      if (isFull) throw new Error("The disk is full.");
      await store.commit(...unit);
    });
    journal.record({ events: [said("one")] });
    const failing = journal.commit("now");
    journal.record({ events: [said("two")] });
    await expect(failing).rejects.toThrow("full");
    isFull = false;
    await journal.commit("now");
    expect(await textsInLog()).toEqual(["one", "two"]);
  });
});
