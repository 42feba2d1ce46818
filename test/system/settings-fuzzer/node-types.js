'use strict';
// The properties of every node type of this package, from the html that registers them: a new one is covered
// automatically.

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { root } = require('../../../bench/harness/gateway');

/** @typedef {{ type: string, isConfig: boolean, outputs: number, defaults: Record<string, { value: unknown, type?: string }> }} NodeType */

/** The rest of the editor: every member exists and does nothing. @type {any} */
const anything = new Proxy(() => {}, {
  get: (_of, name) =>
    name === Symbol.iterator ? [][Symbol.iterator] : name === Symbol.toPrimitive ? () => '' : anything,
  apply: () => anything
});

/** @param {string} type @returns {NodeType} */
function readType(type) {
  const html = fs.readFileSync(path.join(root, 'nodes', `${type}.html`), 'utf8');
  /** @type {Record<string, any>} */
  const registered = {};
  const registerType = (/** @type {string} */ name, /** @type {object} */ definition) =>
    (registered[name] = definition);
  const own = { _: (/** @type {string} */ key) => key, nodes: { registerType } };
  const RED = new Proxy(own, { get: (of, name) => Reflect.get(of, name) ?? anything });
  for (const [, script] of html.matchAll(/<script type="text\/javascript">([\s\S]*?)<\/script>/g)) {
    vm.runInNewContext(script, { RED, $: () => anything, TextEncoder });
  }
  const { category, outputs = 0, defaults } = registered[type];
  return { type, isConfig: category === 'config', outputs, defaults };
}

/** @returns {NodeType[]} */
function nodeTypes() {
  const { nodes } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))['node-red'];
  return Object.keys(nodes).map(readType);
}

exports.nodeTypes = nodeTypes;
