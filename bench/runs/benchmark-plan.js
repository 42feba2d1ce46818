'use strict';
// The options of seganet-bench.

const { fail, readArguments } = require('../harness/arguments');
const { gatewayEnv, pinning } = require('../options/options');
const { hardFileLimit } = require('../harness/proc');
const { SHARE } = require('./under-quota');

const intro = `Usage: seganet-bench [options]        (in a checkout: npm run bench -- [options])

Measures the gateway and comparable systems on this machine and writes a report. Each round runs every case of every
chapter once and begins with a different one; figures are medians over the rounds with the range.
--list prints the chapters and their cases.`;

/** @type {import('../harness/arguments').Numbers} */
const numbers = {
  rounds: ['5', 1, 100, 'rounds'],
  seconds: ['14', 1, 3600, 'length of each load, including the warm-up'],
  warmup: ['6', 0, 60, 'seconds at its beginning that do not count'],
  steal: ['0.5', 0, 100, 'a run with more steal time (%) is repeated, at most twice; 100 = never'],
  minutes: [
    '1',
    0.05,
    600,
    "chapter tenants: length of the paper's long experiment, which took 62; overlay: of a schedule of faults"
  ],
  devices: ['0', 0, 20000, "this number of devices instead of a chapter's list; 0 = the list"],
  quota: [
    String(SHARE),
    0.05,
    1,
    'chapter paper: fraction of the CPU need of its baseline that each system gets in the runs under a quota'
  ]
};

/** @type {import('../harness/arguments').Texts} */
const texts = {
  only: ['', 'comma-separated chapters; empty = all'],
  systems: ['', "comma-separated systems; empty = each chapter's own choice"],
  pin: [
    'auto',
    'auto (half of the cores for the system, half for the harness) | none | SYSTEM:HARNESS core lists, such as 0-2:3'
  ],
  env: [
    '',
    'additional settings of the gateway: variables, and properties of its nodes, such as seganet-batch.maxDelayMs=100,SEGANET_WORKERS=1'
  ],
  driver: [
    'process',
    'chapter tenants: process | docker | podman; the engines run in namespaces of their own'
  ],
  out: ['', 'folder for results.json, report.md and the plots; empty = seganet-bench-DATE'],
  from: [
    '',
    'comma-separated results.json files with different chapters: write their report, measure nothing'
  ]
};

const flags = {
  quick: 'one round of 5 s: a functional check, not a result',
  all: 'the long lists: every number of devices',
  tests: 'chapters tenants and overlay: also run the tests that prove a criterion',
  list: 'print the chapters and their cases, run nothing',
  results: 'write the section of bench/RESULTS.md too'
};

/** File descriptors for a run of 1,000 devices: both ends of each connection, and others. */
const filesWanted = 16384;

const drivers = ['process', 'docker', 'podman'];

/** @param {string} value @returns {string[]} */
const names = (value) => value.split(',').filter(Boolean);

/** @returns {{plan: import('../options/chapter').Plan, out: string, from: string[], list: boolean, results: boolean}} */
function readPlan() {
  const { number, text, flag } = readArguments(intro, { numbers, texts, flags });
  const quick = flag('quick');
  const seconds = quick ? Math.min(5, number('seconds')) : number('seconds');
  const warmup = Math.min(quick ? 1 : Infinity, number('warmup'));
  if (warmup >= seconds) fail('--warmup must be shorter than --seconds');
  const devices = number('devices');
  const driver = text('driver');
  if (!drivers.includes(driver)) fail(`--driver must be one of ${drivers.join(', ')}, not '${driver}'`);
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
    minutes: number('minutes'),
    driver,
    tests: flag('tests'),
    mostSteal: quick ? 1 : number('steal') / 100,
    openFiles: Math.min(filesWanted, hardFileLimit()),
    ...pinning(text('pin'))
  };
  return { plan, out: text('out'), from: names(text('from')), list: flag('list'), results: flag('results') };
}

module.exports = { readPlan };
