'use strict';

const fs = require('node:fs');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { plural, table } = require('../../nodes/lib/base/cli/cli-output');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const { isPlain, parse, write } = require('../../nodes/lib/shadow/json');
const { askNode, isRunning } = require('./gateway-client');
const { homeOf } = require('./home-settings');
const { EXIT } = require('./usage');

/** Standard input as the document. */
const STDIN = '-';
const SECTIONS = ['desired', 'reported', 'delta', 'failed'];

/**
 * @typedef {import('../../nodes/lib/base/cli/cli-output').Output} Output
 *
 * @typedef {object} Asked
 * @property {string} verb list, get, set or delete
 * @property {string} device
 * @property {string} desired of set: JSON, or STDIN
 * @property {string} version of set: that the shadow must have, '' = any
 * @property {string} engine id, '' = the first one that has shadows
 * @property {string} after of list
 * @property {number} limit of list
 */

/**
 * @param {import('./usage').Options} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function shadow({ home: given, shadow: asked, json }, output) {
  if (!asked) throw new Error('it is the command line of another command');
  const home = homeOf(given);
  // Before the gateway is asked, with the rights of the caller: it may be a file that only root can read.
  const text = asked.verb === 'set' ? updateOf(asked) : '';
  workAsOwnerOf(home);
  if (!(await isRunning(home))) {
    output.note(`No gateway uses ${home}. Start it, or name its folder with --home.`);
    return EXIT.NOT_RUNNING;
  }
  const answer = await askNode(home, addressOf(asked), text);
  // As it is written on the disk, with all digits.
  if (json) output.line(answer);
  else for (const line of linesOf(asked, parse(answer))) await output.line(line);
  return EXIT.OK;
}

/** @param {Asked} asked @returns {string} JSON */
function updateOf({ desired, version }) {
  const given = desired === STDIN ? fs.readFileSync(process.stdin.fd, 'utf8') : desired;
  const state = readJson(given);
  if (state !== null && !isPlain(state))
    throw new CliError(
      `What is desired must be a JSON object, such as '{"rate":5}', or null to remove all of it.`,
      EXIT.USAGE
    );
  return write({ desired: state, ...(version !== '' && { version: Number(version) }) });
}

/** @param {string} text */
function readJson(text) {
  try {
    return parse(text);
  } catch (error) {
    throw new CliError(
      `What is desired cannot be read. ${/** @type {Error} */ (error).message} An example: '{"rate":5}'.`,
      EXIT.USAGE
    );
  }
}

/** @param {Asked} asked */
function addressOf({ verb, device, engine, after, limit }) {
  const params = new URLSearchParams(verb === 'list' ? { limit: String(limit), after } : { device });
  if (engine) params.set('engine', engine);
  return `/nodes/shadow/${verb}?${params}`;
}

/** @param {Asked} asked @param {any} answer @returns {string[]} */
function linesOf({ verb, device }, answer) {
  if (verb === 'list') return listed(answer);
  const { version, timestamp } = answer;
  const about = `${shown(device)}: version ${version}, ${time(timestamp)}`;
  if (verb !== 'get') return [verb === 'delete' ? `deleted ${about}` : about];
  const rows = SECTIONS.filter((name) => answer[name]).map((name) => [name, shown(write(answer[name]))]);
  return [about, ...table(['', ''], rows).slice(1)];
}

/** @param {{ total: number, shadows: any[], next: string | null }} page @returns {string[]} */
function listed({ total, shadows, next }) {
  if (shadows.length === 0) return [total === 0 ? 'There are no shadows.' : 'There are no more shadows.'];
  const rows = shadows.map(({ device, version, timestamp, state }) => [
    shown(device),
    String(version),
    state === 'damaged' ? '–' : time(timestamp),
    state
  ]);
  const more = next === null ? [] : ['', `${plural(total, 'shadow')} in all; more: --after '${shown(next)}'`];
  return [...table(['device', 'version', 'changed', 'state'], rows), ...more];
}

/** @param {number} seconds since 1970 */
const time = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');

/** A device chooses its name: control characters must not reach the terminal. @param {string} text */
const shown = (text) => text.replace(/\p{Cc}/gu, '\ufffd');

exports.shadow = shadow;
