'use strict';
// Starts systems by name. Their adapters are in bench/systems.

const { adapters } = require('../systems');

/** @typedef {import('../systems').Context} Context @typedef {import('../systems').System} System */

/** @param {import('../systems').Adapter} adapter @param {Context} context */
async function start(adapter, context) {
  const lacking = adapter.lacking();
  if (lacking) throw new Error(`'${adapter.name}' cannot run here. ${lacking}`);
  return adapter.start(context);
}

/** @param {import('../systems').Adapter[]} list @returns {Record<string, (context: Context) => Promise<System>>} */
const byName = (list) =>
  Object.fromEntries(
    list.map((adapter) => [adapter.name, (/** @type {Context} */ context) => start(adapter, context)])
  );

const systems = byName(adapters);

module.exports = { byName, systems };
