/** hnswlib-node.d.ts -- the part of hnswlib-node that goald uses, since types of an optional package may be missing. */
declare module "hnswlib-node" {
  export class HierarchicalNSW {
    constructor(space: "l2" | "ip" | "cosine", dimensions: number);
    initIndex(maxElements: number, links: number, constructionEf: number, seed: number): void;
    resizeIndex(maxElements: number): void;
    addPoint(vector: number[], label: number): void;
    markDelete(label: number): void;
    setEf(ef: number): void;
    searchKnn(query: number[], count: number): { readonly neighbors: number[]; readonly distances: number[] };
    getMaxElements(): number;
  }
  const library: { readonly HierarchicalNSW: typeof HierarchicalNSW };
  export default library;
}
