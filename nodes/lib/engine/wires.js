'use strict';
// Keeps native wires out of a node's own sending. Node-RED's send() reads what updateWires() was told last, so the node
// is told only of the wires that carry messages; cloning, hooks and the debugger then work as on any node.

/** @typedef {import('node-red').Node & { wires?: string[][] }} WiredNode */

class Wires {
  /** @param {WiredNode} node as createNode() left it */
  constructor(node) {
    /** @type {string[][]} wires as drawn */
    this.drawn = node.wires ?? [];
    const tell = /** @type {(wires: string[][]) => void} */ (/** @type {unknown} */ (node.updateWires));
    this.tell_ = tell.bind(node);
    /** @type {Set<string>} */
    this.native_ = new Set();
    // A rewire without a restart: records keep to the old plan until the new one is applied, so a wire that is native
    // in it must not also send messages meanwhile.
    const updateWires = (/** @type {string[][]} */ wires) => {
      this.drawn = wires ?? [];
      this.tell_(this.drawn.map((port) => port.filter((id) => !this.native_.has(id))));
    };
    Object.defineProperty(node, 'updateWires', { value: updateWires, configurable: true, writable: true });
  }

  /**
   * @param {string[][]} jsWires wires that carry messages
   * @param {string[]} nativeWires drawn wires that do not
   */
  apply(jsWires, nativeWires) {
    this.native_ = new Set(nativeWires);
    this.tell_(jsWires);
  }

  /** Every drawn wire carries messages again. */
  restore() {
    this.apply(this.drawn, []);
  }
}

exports.Wires = Wires;
