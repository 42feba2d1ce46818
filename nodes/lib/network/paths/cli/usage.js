'use strict';
// The command line of seganet-paths.

const { readCommandLine } = require('../../../base/cli/usage');
const { checkBroker, checkNumber, checkPaths, usage } = require('../path-settings');
const { defaultDirectory } = require('../paths-state');
const { DEFAULTS } = require('../path-health');
const advice = require('../role-advice').DEFAULTS;

/**
 * @typedef {object} Options
 * @property {import('../path-settings').Wanted[]} paths none = auto @property {import('../path-settings').Broker | null} broker null = nothing is probed
 * @property {boolean} autoBackup @property {import('../role-advice').Limits} limits of quality
 * @property {number} everyMs @property {number} timeoutMs @property {string} stateDir @property {boolean} force @property {boolean} json
 */

/** @type {Record<string, string>} */
const OPTIONS = {
  paths: `  --paths LIST       auto, or interfaces and IPv4 addresses such as eth0,wwan0:backup; default SEGANET_UPLINK_PATHS, else auto:
                     every interface with a default route, mobile ones as backup`,
  broker: `  --broker ADDRESS   whom the probes ask: host:port, or a URL; default SEGANET_UPLINK_URL; without, only links are watched`,
  every: `  --every MS         from one probe of a healthy path to the next, 250 to 60000; default ${DEFAULTS.everyMs}`,
  timeout: `  --timeout MS       so long may an answer take, 100 to 10000; default ${DEFAULTS.timeoutMs}. Two in a row without: the path is down`,
  'auto-backup': `  --auto-backup      a path of bad quality is backup until it is good again. Without, that is only advised`,
  'backup-below': `  --backup-below PERCENT
                     bad is Wi-Fi with less link quality, 0 to 90; default ${advice.belowPercent} (-82 dBm)`,
  'backup-loss': `  --backup-loss PERCENT
                     bad is when more of the probes get no answer, 0 to 100; default ${advice.lossPercent}`,
  'backup-rtt': `  --backup-rtt MS    bad is a longer round trip, 1 to 60000; default: any will do`,
  'backup-after': `  --backup-after SECONDS
                     a path becomes backup when it was bad for so long, 1 to 600; default ${advice.backupAfterS}`,
  'active-after': `  --active-after SECONDS
                     and active again when it was good for so long, 1 to 3600; default ${advice.activeAfterS}`,
  force: `  --force            although NetworkManager, or somebody by hand, has made MPTCP endpoints: those are left alone`,
  'state-dir': `  --state-dir DIR    where it keeps what was there before, and its status; default ${defaultDirectory()}`,
  json: `  --json             JSON: one object; of watch, one for each line`
};

/** Of the watch only. */
const QUALITY = ['auto-backup', 'backup-below', 'backup-loss', 'backup-rtt', 'backup-after', 'active-after'];

const RIGHTS = 'Needs root or CAP_NET_ADMIN.';

const MANUAL = {
  name: 'seganet-paths',
  purpose:
    'Gives each network interface routes and an MPTCP endpoint of its own, so that one connection to the broker uses all of them\nand survives the death of any.',
  options: OPTIONS,
  flags: ['auto-backup', 'force', 'json'],
  commands: {
    plan: {
      says: 'prints the commands that apply would run and why; changes nothing',
      more: 'Needs no rights.',
      options: ['paths', 'state-dir', 'force', 'json']
    },
    apply: {
      says: 'makes routes, endpoints and settings of the kernel',
      more: `${RIGHTS} Again with the same arguments it does nothing.`,
      options: ['paths', 'state-dir', 'force', 'json']
    },
    check: {
      says: 'tells what differs from what apply would make',
      more: 'Needs no rights.',
      options: ['paths', 'state-dir', 'json']
    },
    undo: {
      says: 'takes everything of ours away and puts settings back',
      more: `${RIGHTS} Works without the file of apply, too, but for settings of the kernel.`,
      options: ['state-dir', 'json']
    },
    watch: {
      says: 'applies, and keeps it healthy until SIGTERM: probes each path, takes dead ones out, brings them back',
      more: `${RIGHTS} What was applied stays when it ends: 'undo' removes it.`,
      options: ['paths', 'broker', 'every', 'timeout', ...QUALITY, 'state-dir', 'force', 'json']
    }
  },
  exits: `exit codes
  0  done, or in order         1  not in order, refused, or failed
  2  wrong usage               3  cannot tell or cannot do: ip, rights or the file are missing`,
  documents: 'docs/paths.md',
  usage
};

/** @param {(name: string) => string | undefined} text @returns {import('../role-advice').Limits} */
function readLimits(text) {
  const number = (
    /** @type {string} */ name,
    /** @type {number} */ otherwise,
    /** @type {number} */ least,
    /** @type {number} */ most,
    /** @type {string} */ unit
  ) => checkNumber(name, text(name) ?? String(otherwise), least, most, unit);
  return {
    belowPercent: number('backup-below', advice.belowPercent, 0, 90, 'percent'),
    lossPercent: number('backup-loss', advice.lossPercent, 0, 100, 'percent'),
    rttMs: text('backup-rtt') === undefined ? Infinity : number('backup-rtt', 0, 1, 60000, 'milliseconds'),
    backupAfterMs: number('backup-after', advice.backupAfterS, 1, 600, 'seconds') * 1000,
    activeAfterMs: number('active-after', advice.activeAfterS, 1, 3600, 'seconds') * 1000
  };
}

/** @param {string[]} args of the command line @param {NodeJS.ProcessEnv} [env] @returns {{ command: string, text: string, options: Options | null }} */
function readArguments(args, env = process.env) {
  const { command, text: shown, values } = readCommandLine(MANUAL, args);
  if (!values) return { command, text: shown, options: null };
  const text = (/** @type {string} */ name) => /** @type {string | undefined} */ (values[name]);
  const broker = text('broker') ?? (command === 'watch' ? env.SEGANET_UPLINK_URL : '');
  const directory = text('state-dir') ?? defaultDirectory(env);
  if (directory === '' || directory.includes('\0')) throw usage('--state-dir takes a folder.');
  const options = {
    paths: checkPaths(text('paths') ?? (env.SEGANET_UPLINK_PATHS || 'auto')),
    broker: broker ? checkBroker(broker) : null,
    autoBackup: values['auto-backup'] === true,
    limits: readLimits(text),
    everyMs: checkNumber('every', text('every') ?? String(DEFAULTS.everyMs), 250, 60000),
    timeoutMs: checkNumber('timeout', text('timeout') ?? String(DEFAULTS.timeoutMs), 100, 10000),
    stateDir: directory,
    force: values.force === true,
    json: values.json === true
  };
  return { command, text: '', options };
}

module.exports = { readArguments };
