'use strict';
// The options that the commands share: load, systems, pinning, output.

const { fail, readArguments } = require('../harness/arguments');
const { allowedCores, hardFileLimit } = require('../harness/proc');
const { systems } = require('./systems');

/** @typedef {import('../harness/arguments').Numbers} Numbers @typedef {import('../harness/arguments').Texts} Texts */

/** @type {Numbers} */
const loadNumbers = {
  devices: ['1000', 1, 20000, 'devices, each with its own connection'],
  rate: ['10', 0.05, 10000, 'messages per second of each device'],
  seconds: ['20', 3, 3600, 'length of the load'],
  warmup: ['2', 0, 60, 'seconds at its beginning that do not count'],
  payload: ['200', 0, 65536, 'bytes of a message'],
  'alarm-every': ['20', 0, 1000000, 'every n-th message is an alarm (class 1); 0 = none'],
  inflight: ['64', 1, 60000, 'most unacknowledged messages of a device'],
  repeat: ['3', 1, 100, 'rounds; every round runs each system once']
};

/** @type {Texts} */
const loadTexts = {
  pin: [
    'auto',
    'auto (half of the cores for the system, half for the harness) | none | SYSTEM:HARNESS core lists, such as 0-2:3'
  ],
  datatype: [
    'buffer',
    "output of Node-RED's mqtt in node: buffer (cheapest) | auto-detect (editor's default) | utf8 | json"
  ],
  env: [
    '',
    'additional settings of the gateway: variables, and properties of its nodes, such as seganet-batch.maxDelayMs=100,SEGANET_WORKERS=1'
  ],
  out: ['', 'file for the full results as JSON']
};

/** @param {string} pin @returns {{gatewayCpus: string | undefined, harnessCpus: string | undefined}} */
function pinning(pin) {
  const cores = allowedCores();
  if (pin === 'none' || (pin === 'auto' && cores.length < 2)) {
    return { gatewayCpus: undefined, harnessCpus: undefined };
  }
  if (pin === 'auto') {
    const half = Math.ceil(cores.length / 2);
    return { gatewayCpus: cores.slice(0, half).join(','), harnessCpus: cores.slice(half).join(',') };
  }
  const found = pin.match(/^([\d,-]+):([\d,-]+)$/);
  if (!found) return fail(`--pin must be auto, none or two core lists such as 0-2:3, not '${pin}'`);
  return { gatewayCpus: found[1], harnessCpus: found[2] };
}

/** @param {string} text @returns {Record<string, string>} */
function gatewayEnv(text) {
  const pairs = text
    .split(',')
    .filter(Boolean)
    .map((pair) => pair.split(/=(.*)/s).slice(0, 2));
  if (
    pairs.some(([name, value]) => !/^(SEGANET_\w+|seganet-[a-z-]+\.\w+)$/.test(name) || value === undefined)
  ) {
    fail(`--env must be a list such as seganet-batch.maxDelayMs=100, not '${text}'`);
  }
  return Object.fromEntries(pairs);
}

/**
 * @param {string} intro first lines of --help
 * @param {object} [more]
 * @param {Record<string, string>} [more.defaults] overrides of the defaults above; `systems: ''`: no such option
 * @param {Numbers} [more.numbers] the command's own options
 * @param {Texts} [more.texts]
 * @param {Record<string, string>} [more.flags] name → description; these take no value
 */
function readOptions(intro, { defaults = {}, numbers = {}, texts = {}, flags = {} } = {}) {
  /** @param {Numbers | Texts} own @returns {any} */
  const withDefaults = (own) =>
    Object.fromEntries(
      Object.entries(own).map(([name, [initial, ...rest]]) => [name, [defaults[name] ?? initial, ...rest]])
    );
  const allNumbers = /** @type {Numbers} */ (withDefaults({ ...loadNumbers, ...numbers }));
  const allTexts = /** @type {Texts} */ (withDefaults({ ...loadTexts, ...texts }));
  const defaultSystems = defaults.systems ?? Object.keys(systems).join(',');
  const choice = `comma-separated, of ${Object.keys(systems).join(', ')}`;
  if (defaultSystems) allTexts.systems = [defaultSystems, choice];
  const { number, text, flag } = readArguments(intro, { numbers: allNumbers, texts: allTexts, flags });
  const names = defaultSystems ? text('systems').split(',') : [];
  for (const name of names) if (!systems[name]) fail(`--systems: '${name}' is not known. See --help.`);
  const profile = {
    devices: number('devices'),
    rate: number('rate'),
    seconds: number('seconds'),
    warmup: number('warmup'),
    payload: number('payload'),
    alarmEvery: number('alarm-every'),
    inflight: number('inflight'),
    quietMs: 4000,
    drain: 30,
    datatype: text('datatype'),
    gatewayEnv: gatewayEnv(text('env')),
    ...pinning(text('pin'))
  };
  if (profile.warmup >= profile.seconds) fail('--warmup must be shorter than --seconds');
  if (hardFileLimit() < profile.devices * 2 + 1024) {
    fail(`${profile.devices} devices need ${profile.devices * 2 + 1024} open files: raise 'ulimit -Hn'`);
  }
  return {
    profile,
    names,
    repeat: number('repeat'),
    out: text('out'),
    /** The command's own options. @type {Record<string, any>} */
    own: {
      ...Object.fromEntries(Object.keys(numbers).map((name) => [name, number(name)])),
      ...Object.fromEntries(Object.keys(texts).map((name) => [name, text(name)])),
      ...Object.fromEntries(Object.keys(flags).map((name) => [name, flag(name)]))
    }
  };
}

module.exports = { readOptions, fail, pinning, gatewayEnv, loadTexts };
