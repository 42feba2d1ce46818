'use strict';
// The systems by name, ready to start. Their adapters are in bench/systems.

const { adapters } = require('../systems');

/** @typedef {import('../systems').Context} Context @typedef {import('../systems').System} System */

/** @param {import('../systems').Adapter} adapter @param {Context} context */
async function start(adapter, context) {
  const lacking = adapter.lacking();
  if (lacking) throw new Error(`'${adapter.name}' cannot run here. ${lacking}`);
  return adapter.start(context);
}

/** @type {Record<string, (context: Context) => Promise<System>>} */
const systems = Object.fromEntries(
  adapters.map((adapter) => [adapter.name, (context) => start(adapter, context)])
);

module.exports = { systems };
