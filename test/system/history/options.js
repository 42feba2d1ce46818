'use strict';
// The command line of run.js.

const { parseArgs } = require('node:util');
const { KINDS, LINKS, PEOPLE } = require('./schedule');
const { systems } = require('./systems');
const { KINDS: TENANT_KINDS } = require('./tenants/schedule');

const INTRO = `Usage: node native/node/run.js test/system/history/run.js [options]

Puts a gateway with real devices and a real broker through faults drawn from a seed, records every acknowledgement and every
arrival, and checks that no acknowledged record was lost, swapped, changed or repeated more often than allowed. Exit code 0: every
run was valid; 1: a run was not, and its files are kept; 2: wrong options.`;

/** mode → faults, runs, peer. @type {Record<string, {kinds: string[], runs: number, peer?: string}>} */
const MODES = {
  mixed: { kinds: KINDS, runs: 20 },
  'power-cut': { kinds: ['power-cut'], runs: 50 },
  'write-failures': { kinds: ['write-failures'], runs: 60 },
  deploys: { kinds: PEOPLE, runs: 300 },
  links: { kinds: LINKS, runs: 300 },
  flow: {
    kinds: ['kill', 'kill-in-outage', 'kill-deploy', 'deploy', 'term'],
    runs: 50,
    peer: 'gateway-flow'
  },
  tenants: { kinds: TENANT_KINDS, runs: 200, peer: 'gateway' }
};

/** name → default, what. @type {Record<string, [string, string]>} */
const options = {
  runs: [
    '',
    'number of runs, each with its own seed (20; 50 in mode power-cut; 60 in mode write-failures, with several failures each; 50 in mode flow; 200 in mode tenants; 300 in modes deploys and links)'
  ],
  seed: [
    '1',
    'seed of the first run; each next run has the next number. A run depends only on its seed, --seconds and --faults'
  ],
  seconds: ['4', 'seconds of load in each run'],
  parallel: ['2', 'concurrent runs'],
  mode: ['mixed', `${Object.keys(MODES).join(' | ')}`],
  faults: [
    '',
    `comma-separated: ${[...KINDS, ...LINKS].join(', ')}; in mode tenants: ${TENANT_KINDS.join(', ')}`
  ],
  peer: [
    '',
    `comma-separated, each gets the same schedules (gateway; gateway-flow in mode flow): ${Object.keys(systems).join(', ')}`
  ],
  out: ['', 'folder for the files of runs that are not valid (a new one in the temporary folder)'],
  json: ['', 'file for all verdicts']
};

/** @param {string} text @returns {never} */
function fail(text) {
  console.error(text);
  process.exit(2);
}

/** @param {string} name @param {string} text @param {number} from @param {number} to */
function number(name, text, from, to) {
  const value = Number(text);
  if (!(value >= from && value <= to)) fail(`--${name} ${text} is not a number from ${from} to ${to}.`);
  return value;
}

/** @param {string} name @param {string} text @param {string[]} known */
function oneOf(name, text, known) {
  if (!known.includes(text)) fail(`--${name} ${text} is unknown. Choose from: ${known.join(', ')}.`);
  return text;
}

function help() {
  const lines = Object.entries(options).map(
    ([name, [value, what]]) => `  --${name.padEnd(9)} ${what}${value && ` (${value})`}`
  );
  return `${INTRO}\n\n${lines.join('\n')}\n  --check     FILE: checks a kept history.json again, without a run\n`;
}

/** @param {string[]} args */
function readOptions(args) {
  /** @type {any} */
  const types = { help: { type: 'boolean', short: 'h' }, check: { type: 'string' } };
  for (const [name, [value]] of Object.entries(options)) types[name] = { type: 'string', default: value };
  /** @type {any} */
  let values;
  try {
    ({ values } = parseArgs({ args, options: types }));
  } catch (error) {
    fail(`${/** @type {Error} */ (error).message} See --help.`);
  }
  const mode = MODES[oneOf('mode', values.mode, Object.keys(MODES))];
  const kinds = values.faults ? values.faults.split(',') : mode.kinds;
  const known = values.mode === 'tenants' ? TENANT_KINDS : [...KINDS, ...LINKS];
  for (const kind of kinds) oneOf('faults', kind, known);
  return {
    mode: /** @type {string} */ (values.mode),
    help: values.help ? help() : '',
    check: values.check || '',
    peers: /** @type {string[]} */ (
      (values.peer || mode.peer || 'gateway')
        .split(',')
        .map((peer) => oneOf('peer', peer, Object.keys(systems)))
    ),
    kinds,
    runs: number('runs', values.runs || String(mode.runs), 1, 100000),
    seed: number('seed', values.seed, 0, 2 ** 31),
    seconds: number('seconds', values.seconds, 1, 3600),
    parallel: number('parallel', values.parallel, 1, 64),
    out: values.out,
    json: values.json
  };
}

module.exports = { readOptions };
