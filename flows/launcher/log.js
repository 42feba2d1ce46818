'use strict';

// Formats the gateway's output: Node-RED's warnings and errors, and the messages of its engines, one entry each.
// Nothing is printed during normal operation. SEGANET_LOG_FORMAT=json makes every entry a line of JSON.

const { inspect } = require('util');
const { Complaints } = require('../../nodes/lib/base/complaints');

const ERROR = 20;
const WARN = 30;
/** Longest message, in characters. A function node may log anything. */
const MOST_TEXT = 8192;

/** Node-RED warns that projects are disabled even if the settings disable them. */
const NOISE = /^Projects disabled/;
/** A user name and a password in a URL. A password that is not encoded may contain @. Bounded, so that it is fast. */
const CREDENTIALS = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/"'<>]{0,512}@/gi;

/**
 * @typedef {'info' | 'warning' | 'error'} Level
 * @typedef {object} Node that logs
 * @property {string} [type]
 * @property {string} [id]
 * @property {string} [name]
 */

/** Of identical messages: first each at once, then at growing intervals, with a count. */
let repeated = new Complaints(() => {});

/**
 * Node-RED's log handler.
 * @param {{ level: number, type?: string, name?: string, id?: string, msg: unknown }} entry
 */
function logLine({ level, type, name, id, msg }) {
  const text = textOf(msg);
  if (NOISE.test(text)) return;
  if (level > WARN && type !== 'seganet-engine') return;
  const word = level > WARN ? 'info' : level > ERROR ? 'warning' : 'error';
  const more = repeated.admit(`${word} ${id} ${text}`);
  if (more !== null) write(word, text, { type, id, name }, more);
}

/** @param {unknown} msg anything that a node logs, which may have no text form @returns {string} */
function textOf(msg) {
  const value = /** @type {any} */ (msg)?.message ?? msg;
  const text = typeof value === 'object' && value !== null ? inspect(value) : String(value);
  // Before the cut, which could leave a part of a password.
  const safe = text.slice(0, 2 * MOST_TEXT).replace(CREDENTIALS, '$1…@');
  return safe.length > MOST_TEXT ? `${safe.slice(0, MOST_TEXT - 1)}…` : safe;
}

/**
 * @param {Level} level
 * @param {string} text
 * @param {Node} [node]
 * @param {number} [more] identical messages that were not written since the last one
 */
function write(level, text, node = {}, more = 0) {
  const print = level === 'info' ? console.log : console.error;
  if (process.env.SEGANET_LOG_FORMAT === 'json') {
    const { type, id, name } = node;
    const entry = { time: new Date().toISOString(), level, message: text, type, id, name: name || undefined };
    return print(JSON.stringify({ ...entry, ...(more > 0 && { repeated: more }) }));
  }
  const count = more > 0 ? ` (And ${more} more times since the last message about this.)` : '';
  if (level === 'info') return print(`${node.type ? `${node.name || 'engine'}: ` : ''}${text}${count}`);
  const where = node.type ? ` [${node.type}:${node.name || node.id}]` : '';
  print(`${level}:${where} ${text}${count}`);
}

/** Writes every message at once again. Call it when a deploy begins: what is still wrong after it is news. */
function forgetRepeated() {
  repeated = new Complaints(() => {});
}

/** @param {string} line */
function say(line) {
  write('info', line);
}

/** @param {string} sentence */
function warn(sentence) {
  write('warning', sentence);
}

/** @param {string} sentence */
function fail(sentence) {
  write('error', sentence);
}

/**
 * Reports why the gateway ends, as text without a level.
 * @param {string} text one or more lines
 */
function sayLast(text) {
  if (process.env.SEGANET_LOG_FORMAT === 'json') write('error', text);
  else console.error(text);
}

module.exports = { fail, forgetRepeated, logLine, say, sayLast, warn };
