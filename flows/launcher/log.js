'use strict';

// Formats the gateway's output: Node-RED's warnings and errors, and the messages of its engines, one line each. Nothing
// is printed during normal operation.

const { inspect } = require('util');

const ERROR = 20;
const WARN = 30;

/** Node-RED warns that projects are disabled even if the settings disable them. */
const NOISE = /^Projects disabled/;

/**
 * Node-RED's log handler.
 * @param {{ level: number, type?: string, name?: string, id?: string, msg: unknown }} entry
 */
function logLine({ level, type, name, id, msg }) {
  const text = textOf(msg);
  if (NOISE.test(text)) return;
  if (level > WARN) {
    if (type === 'seganet-engine') say(`${name || 'engine'}: ${text}`);
    return;
  }
  const where = type ? ` [${type}:${name || id}]` : '';
  console.error(`${level <= ERROR ? 'error' : 'warning'}:${where} ${text}`);
}

/** @param {unknown} msg anything that a node logs, which may have no text form @returns {string} */
function textOf(msg) {
  const value = /** @type {any} */ (msg)?.message ?? msg;
  return typeof value === 'object' && value !== null ? inspect(value) : String(value);
}

/** @param {string} line */
function say(line) {
  console.log(line);
}

module.exports = { logLine, say };
