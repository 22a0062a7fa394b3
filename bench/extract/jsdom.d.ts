/** jsdom.d.ts -- types of the part of jsdom that the bench uses; jsdom has none. */
declare module "jsdom" {
  export class JSDOM {
    constructor(html: string, options: { readonly url: string });
    readonly window: { readonly document: unknown };
  }
}
