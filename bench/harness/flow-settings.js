'use strict';
// Settings of a gateway under test, by name: SEGANET_WORKERS is an environment variable, seganet-batch.gapMs is a
// property of the nodes of that type in its flow.

const fs = require('node:fs');
const path = require('node:path');

const SHIPPED = path.join(__dirname, '../../flows/gateway.json');

/**
 * @param {Record<string, string>} settings
 * @returns {{ env: Record<string, string>, properties: [type: string, name: string, value: string][] }}
 */
function splitSettings(settings) {
  const isProperty = (/** @type {string} */ name) => name.includes('.');
  const entries = Object.entries(settings);
  return {
    env: Object.fromEntries(entries.filter(([name]) => !isProperty(name))),
    properties: entries.flatMap(([name, value]) => {
      const [type, property] = name.split('.');
      return isProperty(name) ? [[type, property, value]] : [];
    })
  };
}

/**
 * Writes the flow of a gateway: the one in its home, or else the shipped one, with other properties and more nodes,
 * which replace those with the same id. The launcher does not change an existing flow file, because it may be the
 * user's.
 * @param {string} home
 * @param {ReturnType<typeof splitSettings>['properties']} properties
 * @param {{ id?: string }[]} [more]
 */
function writeFlow(home, properties, more = []) {
  const file = path.join(home, 'gateway.json');
  /** @type {Record<string, any>[]} */
  const flow = JSON.parse(fs.readFileSync(fs.existsSync(file) ? file : SHIPPED, 'utf8'));
  for (const [type, name, value] of properties) {
    const nodes = flow.filter((node) => node.type === type && name in node);
    if (nodes.length === 0) throw new Error(`the flow has no node of type ${type} with the property ${name}`);
    for (const node of nodes) node[name] = value;
  }
  const others = flow.filter(({ id }) => !more.some((node) => node.id === id));
  // On the disk, so that a simulated power cut does not remove it.
  fs.writeFileSync(file, JSON.stringify([...others, ...more], null, 4), { mode: 0o600, flush: true });
}

module.exports = { splitSettings, writeFlow };
