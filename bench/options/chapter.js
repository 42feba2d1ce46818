'use strict';
// The chapters of `seganet-bench`. Each has cases that run once per round.

const fs = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Plan the options of the command
 * @property {number} rounds @property {number} seconds of load, warm-up included @property {number} warmup seconds
 * @property {string} [gatewayCpus] cores of the measured system
 * @property {string} [harnessCpus] of generator, cloud and sink
 * @property {boolean} quick one short round, not a result @property {boolean} all includes the long lists
 * @property {string[]} only names of chapters; empty = all
 * @property {string[]} systems names of systems; empty = the chapter's own choice
 * @property {Record<string, number>} sizes overrides such as the number of devices (--devices)
 * @property {Record<string, string>} env additional variables of the gateway
 * @property {number} [quota] chapter paper: share of its baseline's CPU that a system gets
 * @property {number} [minutes] chapter tenants: length of the paper's long experiment; overlay: of a schedule
 * @property {string} [driver] chapter tenants: what runs the tenants: process, docker or podman
 * @property {boolean} [tests] chapters tenants and overlay: run the tests that prove a criterion, too
 * @property {number} [mostSteal] a run with a larger share of steal time is repeated
 * @property {number} openFiles
 *
 * @typedef {object} Case
 * @property {string} key unique in the chapter @property {string} label
 * @property {number} seconds estimate for the progress bar
 * @property {(context: CaseContext) => Promise<any>} run its result goes into results.json unchanged
 *
 * @typedef {object} CaseContext
 * @property {number} round from 0 @property {Outcome[]} previous outcomes of the same chapter, in any round
 * @property {AbortSignal} signal fires on Ctrl-C, which also ends every Child
 *
 * @typedef {object} Outcome
 * @property {string} chapter @property {string} key @property {number} round
 * @property {any} [result] @property {string} [error] one of the two is set
 * @property {number} [seconds] duration
 * @property {{times: number, faults: string[]}} [again] repetitions because of steal time; faults: of the discarded
 *          runs
 *
 * @typedef {object} Ratio of the same round; median and range over the rounds
 * @property {string} name @property {string} [target] such as '≤ 0.25' or '≥ 10'
 * @property {number} median @property {number} low @property {number} high
 *
 * @typedef {object} Section
 * @property {string} heading @property {string} markdown @property {Ratio[]} ratios
 * @property {{name: string, svg: string}[]} plots name: file name without .svg
 * @property {string[]} warnings
 * @property {string} [summary] Markdown that replaces `markdown` in the published results; absent = the ratios suffice
 *
 * @typedef {object} Chapter
 * @property {string} name @property {string} title @property {string} what one or two sentences
 * @property {(plan: Plan) => Case[]} cases
 * @property {(outcomes: Outcome[], plan: Plan) => Section} report pure: can be repeated from results.json
 * @property {(plan: Plan) => {label: string, why: string}[]} [lacking] cases that cannot run here, and their
 *          requirements
 *
 * @typedef {object} Adapter a system to measure, bench/systems/NAME.js
 * @property {string} name @property {string} title @property {string} what
 * @property {() => string} lacking returns '' if the system can run here, else what is missing and how to get it
 * @property {(context: import('./systems').Context) => Promise<import('./systems').System>} start
 */

const folder = path.join(__dirname, '../chapters');

/** The order in the report; other chapters follow. */
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
