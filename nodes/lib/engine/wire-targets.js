'use strict';
// Follows a wire through nodes that only pass messages on: junctions, link out nodes (to their link in nodes, also on
// other tabs), link in nodes, and subflow instances. Nodes of a group are ordinary nodes. A node that is disabled,
// deleted or on a disabled tab is not live, and ends the walk.
//
// Live nodes of Node-RED look as follows. A link out node has its link in nodes in `wires`. The wires of a subflow
// instance lead to the nodes at its input; the nodes at its output are wired to the nodes behind the instance, and the
// ids of inner nodes are <id of the instance>-<id in the template>.
//
// A link out node in mode "return" and a link call node are not transparent: the message decides where it goes.

/**
 * @typedef {object} LiveNode
 * @property {string} type
 * @property {string[][]} [wires]
 * @property {string} [name]
 * @property {import('./plan-compiler').Trouble} [inert]
 *
 * @typedef {(id: string) => LiveNode | null | undefined} GetNode live nodes only
 *
 * @typedef {object} Canvas the live flows
 * @property {GetNode} getNode
 * @property {(id: string) => boolean} [isReturn] true for a link out node in mode "return"
 * @property {(id: string) => string} [waiterOf] name of a Complete node in whose scope the node is, '' = there is none
 *
 * @typedef {object} Targets what is behind one wire
 * @property {string[]} to ids of the nodes; a node to which several ways lead occurs as often
 * @property {string} waiter name of a Complete node that waits for a node on the way, '' = there is none
 */

/** Ways behind one wire. A wire with more carries messages. */
const MOST_WAYS = 256;

class WireTargets {
  #isEnd;
  #getNode;
  #isReturn;
  #waiterOf;
  /** @type {Map<string, Targets | null>} by wire */
  #known;

  /**
   * @param {(id: string) => boolean} isEnd true for a node of the engine
   * @param {Canvas} canvas
   */
  constructor(isEnd, { getNode, isReturn = () => false, waiterOf = () => '' }) {
    this.#isEnd = isEnd;
    this.#getNode = getNode;
    this.#isReturn = isReturn;
    this.#waiterOf = waiterOf;
    this.#known = new Map();
    /** Most transparent nodes on a way that was followed. */
    this.deepest = 0;
  }

  /**
   * @param {string} wire id of the node at its end
   * @returns {Targets | null} null: there are more than MOST_WAYS
   */
  behind(wire) {
    let targets = this.#known.get(wire);
    if (targets === undefined) {
      /** @type {Targets} */
      const found = { to: [], waiter: '' };
      targets = this.#walk(wire, new Set(), found, { left: 16 * MOST_WAYS }) ? found : null;
      this.#known.set(wire, targets);
    }
    return targets;
  }

  /**
   * @param {string} id
   * @param {Set<string>} way transparent nodes from the wire to here; a message would circle in a loop of them
   * @param {Targets} found
   * @param {{ left: number }} steps
   * @returns {boolean} false if there are too many ways
   */
  #walk(id, way, found, steps) {
    if (--steps.left < 0) return false;
    const node = this.#getNode(id);
    const isEnd = this.#isEnd(id);
    if (!isEnd && !node) return true;
    if (isEnd || !node || !this.#isTransparent(id, node)) return found.to.push(id) <= MOST_WAYS;
    if (way.has(id)) return true;
    // A subflow instance completes no messages, so a Complete node never gets one from it.
    if (!isSubflow(node)) found.waiter ||= this.#waiterOf(id);
    way.add(id);
    this.deepest = Math.max(this.deepest, way.size);
    const isFew = (node.wires?.[0] ?? []).every((next) => this.#walk(next, way, found, steps));
    way.delete(id);
    return isFew;
  }

  /** @param {string} id @param {LiveNode} node */
  #isTransparent(id, node) {
    if (node.type === 'link out') return !this.#isReturn(id);
    return node.type === 'junction' || node.type === 'link in' || isSubflow(node);
  }
}

/** @param {LiveNode} node */
function isSubflow({ type }) {
  return type.startsWith('subflow:');
}

exports.WireTargets = WireTargets;
exports.MOST_WAYS = MOST_WAYS;
