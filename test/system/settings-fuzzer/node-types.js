'use strict';
// The properties of every node type of this package, from the html that registers them: a new one is covered by itself.

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { root } = require('../../fixtures/gateway');

/** @typedef {{ type: string, isConfig: boolean, outputs: number, defaults: Record<string, { value: unknown, type?: string }> }} NodeType */

/** @param {string} type @returns {NodeType} */
function readType(type) {
  const html = fs.readFileSync(path.join(root, 'nodes', `${type}.html`), 'utf8');
  /** @type {Record<string, any>} */
  const registered = {};
  const RED = {
    _: (/** @type {string} */ key) => key,
    nodes: {
      registerType: (/** @type {string} */ name, /** @type {object} */ definition) =>
        (registered[name] = definition)
    },
    utils: { validatePropertyExpression: () => true }
  };
  const $ = () => ({ length: 0, val: () => undefined });
  for (const [, script] of html.matchAll(/<script type="text\/javascript">([\s\S]*?)<\/script>/g)) {
    vm.runInNewContext(script, { RED, $, TextEncoder });
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
