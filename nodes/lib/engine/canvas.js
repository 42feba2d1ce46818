'use strict';
// Reads the live flows for the plan compiler. `_alias`, `_flow` and `completeNodeMap` are internal to Node-RED: where a
// version has none, no node counts as watched.

/**
 * @typedef {import('./wire-targets').Canvas} Canvas
 * @typedef {{ name?: string }} CompleteNode
 * @typedef {{ completeNodeMap?: Record<string, CompleteNode[]> }} Flow
 * @typedef {import('./wire-targets').LiveNode & { id: string, _alias?: string, _flow?: Flow }} RuntimeNode
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @returns {Canvas} of this moment: read it again after a deploy
 */
function canvasOf(RED) {
  /** @param {string} id */
  const getNode = (id) => /** @type {RuntimeNode | null} */ (/** @type {unknown} */ (RED.nodes.getNode(id)));
  /** Templates of link out nodes. @type {Set<string> | null} */
  let returning = null;
  return {
    getNode,
    isReturn(id) {
      returning ??= returningLinks(RED);
      // A live link node does not show its mode. A node in a subflow has the id of its template in `_alias`.
      return returning.has(getNode(id)?._alias ?? id);
    },
    waiterOf(id) {
      // A Complete node sees the nodes of its own tab or subflow instance.
      const [waiter] = getNode(id)?._flow?.completeNodeMap?.[id] ?? [];
      return waiter ? waiter.name || 'complete' : '';
    }
  };
}

/** @param {import('node-red').NodeAPI} RED @returns {Set<string>} ids of link out nodes in mode "return" */
function returningLinks(RED) {
  /** @type {Set<string>} */
  const ids = new Set();
  RED.nodes.eachNode((config) => {
    const { id, type, mode } = /** @type {{ id: string, type: string, mode?: string }} */ (config);
    if (type === 'link out' && mode === 'return') ids.add(id);
  });
  return ids;
}

module.exports = { canvasOf };
