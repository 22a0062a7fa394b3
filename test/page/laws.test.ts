import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";

const FILES = globSync("src/page/*.{ts,css,html,svg}");
const textOf = (file: string): string => readFileSync(file, "utf8");
const matching = (pattern: RegExp): readonly string[] => FILES.filter((file) => pattern.test(textOf(file)));

const MAKES_HTML =
  /innerHTML|outerHTML|insertAdjacentHTML|setHTML|dangerouslySet|document\.write|DOMParser|createContextualFragment|srcdoc/;
const RUNS_TEXT = /\beval\(|new Function|setTimeout\("|<script>|javascript:|\bon(?:load|error|click)="/;

describe("the laws of the page", () => {
  it("no HTML is made from data, and no text is run", () => {
    expect(FILES.length).toBeGreaterThan(10);
    expect(matching(MAKES_HTML)).toEqual([]);
    expect(matching(RUNS_TEXT)).toEqual([]);
  });

  it("can fail: what makes HTML or runs a text is found", () => {
    for (const text of ["a.innerHTML = b", "<div dangerouslySetInnerHTML=x>"]) expect(MAKES_HTML.test(text)).toBe(true);
    for (const text of ["eval(x)", "new Function(x)", '<b onclick="x">']) expect(RUNS_TEXT.test(text)).toBe(true);
  });

  it("requests go to the page's own origin, from one file", () => {
    expect(matching(/\bfetch\(|XMLHttpRequest|EventSource|WebSocket|sendBeacon/)).toEqual(["src/page/api.ts"]);
    const targetsOf = (name: string) => [
      ...new Set(
        [...textOf("src/page/api.ts").matchAll(RegExp(`\\b${name}\\((.{5})`, "g"))].map(([, target]) => target),
      ),
    ];
    expect(["fetch", "request", "send"].map(targetsOf)).toEqual([
      ["path,"],
      ["path,", "path:", "`/v1$"],
      ['"/ses', "`/v1$"],
    ]);
    expect(matching(/(?:src|href|url\(|@import)\s*[=(]?\s*["'`]?(?:https?:)?\/\//)).toEqual([]);
  });

  it("the session key is kept for this tab only, and never in an address or a cookie", () => {
    expect(matching(/document\.cookie/)).toEqual([]);
    expect(matching(/localStorage/)).toEqual(["src/page/home.ts"]);
  });

  it("style and behaviour are in files, as the content security policy wants", () => {
    expect(matching(/<style|style="/)).toEqual([]);
  });
});
