'use strict';
// The nodes of a flow that run: enabled ones, and a copy of a subflow's nodes for each instance of it.

/** Begins the type of an instance; the id of its subflow follows. */
const INSTANCE = 'subflow:';

/**
 * Lists the nodes that run, without tabs and subflows. The nodes of a subflow are only its template: Node-RED starts
 * copies of them, whose ids are INSTANCE-NODE.
 * @param {any[]} flow
 * @returns {any[]} the configurations; those of copies have the id and the z of the copy
 */
function runningNodes(flow) {
  const subflows = new Set(flow.filter(({ type }) => type === 'subflow').map(({ id }) => id));
  const off = new Set(flow.filter(({ type, disabled }) => type === 'tab' && disabled).map(({ id }) => id));
  const isEnabled = (/** @type {any} */ { d, z }) => !d && !off.has(z);
  /** @type {(nodes: any[], inside: string[]) => any[]} inside: the subflows around the nodes */
  const expanded = (nodes, inside) =>
    nodes.filter(isEnabled).flatMap((node) => {
      const { id, type = '' } = node;
      if (!type.startsWith(INSTANCE)) return [node];
      const subflow = type.slice(INSTANCE.length);
      // Node-RED refuses a subflow that contains itself.
      if (inside.includes(subflow)) return [];
      const copies = flow
        .filter(({ z }) => z === subflow)
        .map((each) => ({ ...each, id: `${id}-${each.id}`, z: id }));
      return expanded(copies, [...inside, subflow]);
    });
  const outside = flow.filter(({ type, z }) => type !== 'tab' && type !== 'subflow' && !subflows.has(z));
  return expanded(outside, []);
}

module.exports = { runningNodes };
