'use strict';
// The properties of every node type of this package, from the html that registers them: a new one is covered
// automatically.

const { runPages } = require('../../fixtures/editor/dialogs');
const { nodes } = require('../../../package.json')['node-red'];

/** @typedef {{ type: string, isConfig: boolean, outputs: number, defaults: Record<string, { value: unknown, type?: string }> }} NodeType */

/** The rest of the editor: every member exists and does nothing. @type {any} */
const anything = new Proxy(() => {}, {
  get: (_of, name) =>
    name === Symbol.iterator ? [][Symbol.iterator] : name === Symbol.toPrimitive ? () => '' : anything,
  apply: () => anything
});

/** @returns {NodeType[]} */
function nodeTypes() {
  /** @type {Record<string, any>} */
  const registered = {};
  const registerType = (/** @type {string} */ name, /** @type {object} */ definition) =>
    (registered[name] = definition);
  const own = { _: (/** @type {string} */ key) => key, nodes: { registerType } };
  const RED = new Proxy(own, { get: (of, name) => Reflect.get(of, name) ?? anything });
  const types = Object.keys(nodes);
  runPages(types, { RED, $: () => anything });
  return types.map((type) => {
    const { category, outputs = 0, defaults } = registered[type];
    return { type, isConfig: category === 'config', outputs, defaults };
  });
}

exports.nodeTypes = nodeTypes;
