'use strict';
// What `seganet-bench` is made of: chapters, each with cases that are run once a round.

const fs = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Plan what the command was asked for
 * @property {number} rounds @property {number} seconds of load, warm-up included @property {number} warmup seconds
 * @property {string} [gatewayCpus] cores of what is measured @property {string} [harnessCpus] of generator, cloud and sink
 * @property {boolean} quick one short round: no result @property {boolean} all the long lists too
 * @property {string[]} only names of chapters; none = all
 * @property {string[]} systems only these; none = the chapter's own choice
 * @property {Record<string, number>} sizes other numbers of devices and so on, for tests: --devices
 * @property {Record<string, string>} env more variables of the gateway
 * @property {number} [quota] chapter paper: part of its baseline's CPU that a system may have
 * @property {number} [mostSteal] part of the time that the hypervisor may keep until a run is done again
 * @property {number} openFiles
 *
 * @typedef {object} Case
 * @property {string} key of its own in the chapter @property {string} label
 * @property {number} seconds about, for the progress bar
 * @property {(context: CaseContext) => Promise<any>} run what it returns goes into results.json as it is
 *
 * @typedef {object} CaseContext
 * @property {number} round from 0 @property {Outcome[]} previous of the same chapter, in any round
 * @property {AbortSignal} signal somebody pressed Ctrl-C; every Child is being ended then
 *
 * @typedef {object} Outcome
 * @property {string} chapter @property {string} key @property {number} round
 * @property {any} [result] @property {string} [error] one of the two
 * @property {number} [seconds] that it took @property {{times: number, faults: string[]}} [again] it was done again, for steal time; faults: of the runs that do not count
 *
 * @typedef {object} Ratio of the same round; median and range over the rounds
 * @property {string} name @property {string} [target] such as '≤ 0.25' or '≥ 10'
 * @property {number} median @property {number} low @property {number} high
 *
 * @typedef {object} Section
 * @property {string} heading @property {string} markdown @property {Ratio[]} ratios
 * @property {{name: string, svg: string}[]} plots name: of the file, without .svg
 * @property {string[]} warnings
 * @property {string} [summary] Markdown for README.md in place of `markdown`; none = the ratios are enough
 *
 * @typedef {object} Chapter
 * @property {string} name @property {string} title @property {string} what one or two sentences
 * @property {(plan: Plan) => Case[]} cases
 * @property {(outcomes: Outcome[], plan: Plan) => Section} report pure: made again from results.json
 * @property {(plan: Plan) => {label: string, why: string}[]} [lacking] what it could not run here, and what that needs
 *
 * @typedef {object} Adapter a system to measure, bench/systems/NAME.js
 * @property {string} name @property {string} title @property {string} what
 * @property {() => string} lacking '' when it can run here, else what is missing and how to get it
 * @property {(context: import('./systems').Context) => Promise<import('./systems').System>} start
 */

const folder = path.join(__dirname, '../chapters');

/** In the report; those that are not named here come after them. */
const order = ['peers', 'paper', 'profiles', 'capacity', 'scaling', 'idle', 'limits', 'coap'];

/** @param {string} name */
const rank = (name) => (order.includes(name) ? order.indexOf(name) : order.length);

/** @param {string} [from] folder of the chapters @returns {Chapter[]} */
function loadChapters(from = folder) {
  const names = fs.readdirSync(from).filter((name) => name.endsWith('.js'));
  const chapters = names.map((name) => /** @type {Chapter} */ (require(path.join(from, name))));
  return chapters.sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
}

module.exports = { loadChapters };
