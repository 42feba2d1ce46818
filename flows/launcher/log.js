'use strict';

// What the gateway prints: Node-RED's warnings and errors and what its engines have to say, one line each, and nothing in
// quiet times.

const ERROR = 20;
const WARN = 30;

/** Node-RED warns that projects are off even where the settings say so. */
const NOISE = /^Projects disabled/;

/**
 * Node-RED's log handler.
 * @param {{ level: number, type?: string, name?: string, id?: string, msg: unknown }} entry
 */
function logLine({ level, type, name, id, msg }) {
  const text = msg instanceof Error ? msg.message : String(/** @type {any} */ (msg)?.message ?? msg);
  if (NOISE.test(text)) return;
  if (level > WARN) {
    if (type === 'seganet-engine') say(`${name || 'engine'}: ${text}`);
    return;
  }
  const where = type ? ` [${type}:${name || id}]` : '';
  console.error(`${level <= ERROR ? 'error' : 'warning'}:${where} ${text}`);
}

/** @param {string} line */
function say(line) {
  console.log(line);
}

module.exports = { logLine, say };
