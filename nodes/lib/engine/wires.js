'use strict';
// Hides native wires from a node's send(). Node-RED's send() uses the wires of the last updateWires() call, so only the
// wires that carry messages are passed to it. Cloning, hooks and the debugger then work as for any node.

/** @typedef {import('node-red').Node & { wires?: string[][] }} WiredNode */

class Wires {
  /** @param {WiredNode} node after createNode() */
  constructor(node) {
    /** @type {string[][]} wires as drawn */
    this.drawn = node.wires ?? [];
    const tell = /** @type {(wires: string[][]) => void} */ (/** @type {unknown} */ (node.updateWires));
    this.tell_ = tell.bind(node);
    /** @type {Set<string>} */
    this.native_ = new Set();
    // Wires can change without a restart. Records follow the old plan until the new one is applied, so a wire that is
    // native in the old plan must not also carry messages.
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

  /** Makes every drawn wire carry messages again. */
  restore() {
    this.apply(this.drawn, []);
  }
}

exports.Wires = Wires;
