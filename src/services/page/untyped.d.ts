/** untyped.d.ts -- types of packages that ship none, as far as this folder uses them. */

declare module "html-encoding-sniffer" {
  export default function sniffEncoding(
    bytes: Uint8Array,
    options?: {
      readonly xml?: boolean;
      readonly transportLayerEncodingLabel?: string | undefined;
      readonly defaultEncoding?: string;
      readonly maxPrescanBytes?: number;
    },
  ): string;
}

declare module "turndown/lib/turndown.browser.cjs.js" {
  interface Rule {
    readonly filter: string | readonly string[] | ((node: never) => boolean);
    readonly replacement: (content: string, node: never) => string;
  }
  export default class TurndownService {
    constructor(options?: Readonly<Record<string, string>>);
    escape(text: string): string;
    addRule(name: string, rule: Rule): this;
    remove(names: readonly string[]): this;
    use(plugins: readonly ((service: TurndownService) => void)[]): this;
    turndown(root: object): string;
  }
}

declare module "@joplin/turndown-plugin-gfm" {
  import type TurndownService from "turndown/lib/turndown.browser.cjs.js";

  type Plugin = (service: TurndownService) => void;
  const plugins: {
    readonly strikethrough: Plugin;
    readonly taskListItems: Plugin;
    readonly highlightedCodeBlock: Plugin;
  };
  export default plugins;
}
