'use strict';
// Hides native wires from a node's send(). Node-RED's send() uses the wires of the last updateWires() call, so only the
// wires that carry messages are passed to it. Cloning, hooks and the debugger then work as for any node.

/** @typedef {import('node-red').Node & { wires?: string[][] }} WiredNode */

class Wires {
  #node;
  #tell;
  /** Wires that carry messages. @type {string[][]} */
  #current;
  /** @type {Set<string>} */
  #native;

  /** @param {WiredNode} node after createNode() */
  constructor(node) {
    /** @type {string[][]} wires as drawn */
    this.drawn = node.wires ?? [];
    const tell = /** @type {(wires: string[][]) => void} */ (/** @type {unknown} */ (node.updateWires));
    this.#node = node;
    this.#current = this.drawn;
    this.#tell = tell.bind(node);
    this.#native = new Set();
    // Wires can change without a restart. Records follow the old plan until the new one is applied, so a wire that is
    // native in the old plan must not also carry messages.
    const updateWires = (/** @type {string[][]} */ wires) => {
      this.drawn = wires ?? [];
      this.#use(this.drawn.map((port) => port.filter((id) => !this.#native.has(id))));
    };
    Object.defineProperty(node, 'updateWires', { value: updateWires, configurable: true, writable: true });
  }

  /**
   * @param {string[][]} jsWires wires that carry messages
   * @param {string[]} nativeWires drawn wires that do not
   */
  apply(jsWires, nativeWires) {
    this.#native = new Set(nativeWires);
    this.#use(jsWires);
  }

  /**
   * @param {Record<string, any>} msg
   * @param {string[]} [ids] nodes that get the message; default: those behind the wires that carry messages
   */
  send(msg, ids) {
    if (!ids) return this.#node.send(msg);
    this.#tell([ids]);
    try {
      this.#node.send(msg);
    } finally {
      this.#tell(this.#current);
    }
  }

  /** @param {string[][]} wires */
  #use(wires) {
    this.#current = wires;
    this.#tell(wires);
  }

  /** Makes every drawn wire carry messages again. */
  restore() {
    this.apply(this.drawn, []);
  }
}

exports.Wires = Wires;
