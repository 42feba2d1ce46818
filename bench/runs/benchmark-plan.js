'use strict';
// The options of seganet-bench.

const { fail, readArguments } = require('../harness/arguments');
const { gatewayEnv, pinning } = require('../options/options');
const { hardFileLimit } = require('../harness/proc');
const { SHARE } = require('./under-quota');

const intro = `Usage: seganet-bench [options]        (in a checkout: npm run bench -- [options])

Measures the gateway and what it is compared with on this machine, and writes a report. Each round runs every
case of every chapter once, another one first in each; figures are medians over the rounds with the range.
--list tells the chapters and their cases.`;

/** @type {import('../harness/arguments').Numbers} */
const numbers = {
  rounds: ['5', 1, 100, 'rounds'],
  seconds: ['14', 1, 3600, 'length of each load, its warm-up included'],
  warmup: ['6', 0, 60, 'seconds at its beginning that are not measured'],
  steal: [
    '0.5',
    0,
    100,
    'a run of which the hypervisor kept more of the time, in %, is done again, twice at most; 100 = never'
  ],
  devices: ['0', 0, 20000, 'only this many devices, where a chapter has a list of them; 0 = its own'],
  quota: [
    String(SHARE),
    0.05,
    1,
    'chapter paper: of the CPU that its baseline needs, the part that each system has in the runs under a quota'
  ]
};

/** @type {import('../harness/arguments').Texts} */
const texts = {
  only: ['', 'chapters, comma-separated; none = all'],
  systems: ['', 'systems, comma-separated; none = each chapter its own'],
  pin: [
    'auto',
    'auto (half of the cores for the system, half for the harness) | none | SYSTEM:HARNESS core lists, such as 0-2:3'
  ],
  env: ['', 'more variables for the gateway, such as SEGANET_BATCH_MS=100,SEGANET_WORKERS=1'],
  out: ['', 'folder for results.json, report.md and the plots; none = seganet-bench-DATE'],
  from: [
    '',
    'results.json files, comma-separated, each with chapters of its own: write the report again, measure nothing'
  ]
};

const flags = {
  quick: 'one round of 5 s: a quick look, no result',
  all: 'the long lists too: every number of devices',
  list: 'tell the chapters and their cases, run nothing',
  results: 'write the section of bench/RESULTS.md too'
};

/** Descriptors that a run of 1,000 devices takes, both ends and the rest. */
const filesWanted = 16384;

/** @param {string} value @returns {string[]} */
const names = (value) => value.split(',').filter(Boolean);

/** @returns {{plan: import('../options/chapter').Plan, out: string, from: string[], list: boolean, results: boolean}} */
function readPlan() {
  if (process.argv.includes('--readme')) {
    fail('--readme is now --results: the measured figures are in bench/RESULTS.md, no longer in README.md.');
  }
  const { number, text, flag } = readArguments(intro, { numbers, texts, flags });
  const quick = flag('quick');
  const seconds = quick ? Math.min(5, number('seconds')) : number('seconds');
  const warmup = Math.min(quick ? 1 : Infinity, number('warmup'));
  if (warmup >= seconds) fail('--warmup must be shorter than --seconds');
  const devices = number('devices');
  const plan = {
    rounds: quick ? 1 : number('rounds'),
    seconds,
    warmup,
    quick,
    all: flag('all'),
    only: names(text('only')),
    systems: names(text('systems')),
    sizes: devices > 0 ? { devices } : {},
    env: gatewayEnv(text('env')),
    quota: number('quota'),
    mostSteal: quick ? 1 : number('steal') / 100,
    openFiles: Math.min(filesWanted, hardFileLimit()),
    ...pinning(text('pin'))
  };
  return { plan, out: text('out'), from: names(text('from')), list: flag('list'), results: flag('results') };
}

module.exports = { readPlan };
