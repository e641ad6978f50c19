/** A trie over symbol numbers as one hash table, for candidates that are looked up in every pass of training. */

const ROOT = 0;

/** Nodes are numbers from 0, the root; a table of (node, symbol) pairs leads to the next node. */
export class SymbolTrie {
  #capacity = 1 << 12;
  #parents = new Int32Array(this.#capacity).fill(-1);
  #symbols = new Int32Array(this.#capacity);
  #children = new Int32Array(this.#capacity);
  #size = 1;
  /** The value of each node, -1 for none. */
  #values = new Int32Array(this.#capacity).fill(-1);

  /** Adds a key with its value. */
  add(symbols: Int32Array, begin: number, end: number, value: number): void {
    let node = ROOT;
    for (let i = begin; i < end; i++) node = this.#addChild(node, symbols[i]!);
    this.#values[node] = value;
  }

  /** The node reached from `node` by `symbol`, or -1. The root is 0. */
  child(node: number, symbol: number): number {
    const slot = this.#slot(node, symbol);
    return this.#parents[slot] === -1 ? -1 : this.#children[slot]!;
  }

  valueOf(node: number): number {
    return this.#values[node]!;
  }

  #slot(node: number, symbol: number): number {
    const mask = this.#capacity - 1;
    let hash = Math.imul(node, 0x9e3779b1) ^ Math.imul(symbol, 0x85ebca6b);
    hash ^= hash >>> 15;
    let slot = hash & mask;
    while (this.#parents[slot] !== -1 && (this.#parents[slot] !== node || this.#symbols[slot] !== symbol)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #addChild(node: number, symbol: number): number {
    const slot = this.#slot(node, symbol);
    if (this.#parents[slot] !== -1) return this.#children[slot]!;
    this.#parents[slot] = node;
    this.#symbols[slot] = symbol;
    const child = this.#size++;
    this.#children[slot] = child;
    if (this.#size * 2 > this.#capacity) this.#grow();
    return child;
  }

  #grow(): void {
    const [parents, symbols, children, values] = [this.#parents, this.#symbols, this.#children, this.#values];
    this.#capacity *= 2;
    this.#parents = new Int32Array(this.#capacity).fill(-1);
    this.#symbols = new Int32Array(this.#capacity);
    this.#children = new Int32Array(this.#capacity);
    this.#values = new Int32Array(this.#capacity).fill(-1);
    this.#values.set(values);
    for (let old = 0; old < parents.length; old++) {
      if (parents[old] === -1) continue;
      const slot = this.#slot(parents[old]!, symbols[old]!);
      this.#parents[slot] = parents[old]!;
      this.#symbols[slot] = symbols[old]!;
      this.#children[slot] = children[old]!;
    }
  }
}
