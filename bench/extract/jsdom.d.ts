/** jsdom.d.ts -- jsdom brings no types of its own; this is what the bench uses. */
declare module "jsdom" {
  export class JSDOM {
    constructor(html: string, options: { readonly url: string });
    readonly window: { readonly document: unknown };
  }
}
