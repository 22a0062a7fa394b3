import { describe, expect, it } from "@jest/globals";
import { Markdown } from "../../src/page/markdown.ts";

interface Element {
  readonly type: string;
  readonly props: Readonly<Record<string, unknown>>;
}
const isElement = (part: unknown): part is Element => typeof part === "object" && part !== null && "props" in part;

/** The tags and texts of elements, as a person would write them. */
function show(part: unknown): string {
  if (Array.isArray(part)) return part.map(show).join("");
  if (!isElement(part)) return part === null || part === undefined || typeof part === "boolean" ? "" : String(part);
  const { children, ...attributes } = part.props;
  const shown = Object.entries(attributes).map(([name, value]) => ` ${name}=${value}`);
  return `<${part.type}${shown.join("")}>${show(children)}</${part.type}>`;
}
const elements = (text: string): string =>
  show(Markdown({ text, picture: (path, words) => `(picture ${path} ${words})` })).replace(
    /^<div class=prose>|<\/div>$/g,
    "",
  );

describe("Markdown as elements", () => {
  it.each([
    ["# A *b*", "<h2>A <em>b</em></h2>"],
    ["a **b** `c &lt;` &lt;d&gt;", "<p>a <strong>b</strong> <code>c &lt;</code> <d></p>"],
    ["1. a\n2. b", "<ol start=1><li>a</li><li>b</li></ol>"],
    ["- [x] done\n- [ ] open", "<ul><li>☑ done</li><li>☐ open</li></ul>"],
    ["> q", "<blockquote><p>q</p></blockquote>"],
    ["![a b](charts/x.png)", "<p>(picture charts/x.png a b)</p>"],
  ])("%s", (text, shown) => expect(elements(text)).toBe(shown));

  it("shows tables with numbers at the right", () => {
    const shown = elements("| a | n |\n|---|---:|\n| x | 1 |");
    expect(shown).toContain("<th class=num>n</th>");
    expect(shown).toContain("<tr><td class=>x</td><td class=num>1</td></tr>");
  });

  it("follows web addresses alone, without a referrer", () => {
    expect(elements("[a](https://x.example/)")).toContain(
      "<a href=https://x.example/ title=https://x.example/ rel=noreferrer",
    );
    for (const address of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", " JaVaScRiPt:alert(1)"])
      expect(elements(`[a](<${address}>)`)).not.toContain("<a");
  });

  it("never asks another server for a picture", () => {
    expect(elements("![a](https://x.example/p.png)")).toBe("<p>[picture elsewhere: https://x.example/p.png]</p>");
    expect(elements("![a](//x.example/p.png)")).toContain("elsewhere");
    expect(elements("![a](data:image/svg+xml,x)")).toContain("elsewhere");
  });

  it.each(["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=x>b</b>", "<svg/onload=x>"])(
    "makes no element of %s: its text stays text",
    (text) => {
      const tree = Markdown({ text, picture: () => "" });
      const types: unknown[] = [];
      const visit = (part: unknown): void => {
        if (Array.isArray(part)) for (const each of part) visit(each);
        if (!isElement(part)) return;
        types.push(part.type);
        visit(part.props.children);
      };
      visit(tree);
      expect(types.filter((type) => !["div", "p"].includes(String(type)))).toEqual([]);
      expect(show(tree)).toContain(text.slice(0, 8));
    },
  );
});
