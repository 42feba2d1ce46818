'use strict';
// Reads the command line of seganet-paths.

const { readCommandLine } = require('../../../base/cli/command-line');
const { checkBroker, checkNumber, checkPaths } = require('../path-settings');
const { defaultDirectory } = require('../paths-state');
const { DEFAULTS } = require('../path-health');
const advice = require('../role-advice').DEFAULTS;

/**
 * @typedef {object} Options
 * @property {import('../path-settings').Wanted[]} paths none = auto
 * @property {import('../path-settings').Broker | null} broker null = no probes
 * @property {boolean} autoBackup
 * @property {import('../role-advice').Limits} limits of quality
 * @property {string} signals file with signal levels; '' = the kernel's
 * @property {number} everyMs
 * @property {number} timeoutMs
 * @property {string} stateDir
 * @property {boolean} force
 * @property {boolean} json
 */

/** @type {Record<string, string>} */
const OPTIONS = {
  paths: `  --paths LIST       auto, or interfaces and IPv4 addresses such as eth0,wwan0:backup:metered; default SEGANET_UPLINK_PATHS,
                     else auto: every interface with a default route, mobile ones as backup and metered`,
  broker: `  --broker ADDRESS   probe target: host:port, or a URL; default SEGANET_UPLINK_URL; without it, only links are watched`,
  every: `  --every MS         interval between probes of a healthy path, 250 to 60000; default ${DEFAULTS.everyMs}`,
  timeout: `  --timeout MS       timeout of a probe, 100 to 10000; default ${DEFAULTS.timeoutMs}. After two unanswered probes in a row, the path is down`,
  'auto-backup': `  --auto-backup      makes a path of bad quality a backup until it is good again; without it, watch only advises this`,
  'backup-below': `  --backup-below PERCENT
                     Wi-Fi below this link quality is bad, 0 to 90; default ${advice.belowPercent} (-82 dBm)`,
  'backup-loss': `  --backup-loss PERCENT
                     a path that loses more of its probes is bad, 0 to 100; default ${advice.lossPercent}`,
  'backup-rtt': `  --backup-rtt MS    a path with a longer round trip is bad, 1 to 60000; default: no limit`,
  'backup-after': `  --backup-after SECONDS
                     a path becomes backup after it was bad for this long, 1 to 600; default ${advice.backupAfterS}`,
  'backup-ahead': `  --backup-ahead SECONDS
                     Wi-Fi whose signal falls is bad this long before its link quality reaches --backup-below, 0 to 10; default ${advice.aheadS}`,
  'active-after': `  --active-after SECONDS
                     and active again after it was good for this long, 1 to 3600; default ${advice.activeAfterS}`,
  signals: `  --signals FILE     levels in dBm in the format of /proc/net/wireless, instead of that file, for modems that do not report there`,
  force: `  --force            proceed even if there are other MPTCP endpoints (NetworkManager, or set up by hand), and keep those`,
  'state-dir': `  --state-dir DIR    where the previous state and the status are saved; default ${defaultDirectory()}`,
  json: `  --json             print one JSON object; with watch, one per line`
};

/** Options of watch only. */
const QUALITY = [
  'auto-backup',
  ...['backup-below', 'backup-loss', 'backup-rtt', 'backup-after', 'backup-ahead', 'active-after'],
  'signals'
];

const RIGHTS = 'Requires root or CAP_NET_ADMIN.';

const PROGRAM = {
  name: 'seganet-paths',
  flags: ['auto-backup', 'force', 'json'],
  commands: {
    plan: {
      says: 'prints the commands that apply would run and why; changes nothing',
      more: 'Requires no privileges.',
      options: ['paths', 'state-dir', 'force', 'json']
    },
    apply: {
      says: 'sets up routes, endpoints and kernel settings',
      more: `${RIGHTS} With the same arguments again, it does nothing.`,
      options: ['paths', 'state-dir', 'force', 'json']
    },
    check: {
      says: 'shows what apply would change',
      more: 'Requires no privileges.',
      options: ['paths', 'state-dir', 'json']
    },
    undo: {
      says: 'removes everything that seganet-paths set up and restores settings',
      more: `${RIGHTS} Without the file of apply, it works too, but does not restore kernel settings.`,
      options: ['state-dir', 'json']
    },
    watch: {
      says: 'applies, then maintains the set-up until SIGTERM: probes each path, removes dead paths, restores them',
      more: `${RIGHTS} The set-up stays when watch ends: 'undo' removes it.`,
      options: ['paths', 'broker', 'every', 'timeout', ...QUALITY, 'state-dir', 'force', 'json']
    }
  },
  help: {
    purpose:
      'Gives each network interface its own routes and MPTCP endpoint, so that one connection to the broker uses all interfaces\nand survives the loss of any of them.',
    options: OPTIONS,
    exits: `exit codes
  0  done, or in order         1  not in order, refused, or failed
  2  wrong usage               3  cannot check or change: ip, privileges or the file are missing`,
    documents: ['use/paths.md']
  }
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
    activeAfterMs: number('active-after', advice.activeAfterS, 1, 3600, 'seconds') * 1000,
    aheadMs: number('backup-ahead', advice.aheadS, 0, 10, 'seconds') * 1000
  };
}

/** @param {string[]} args of the command line @param {NodeJS.ProcessEnv} [env] */
const readArguments = (args, env = process.env) =>
  readCommandLine(PROGRAM, args, (given, _operands, command) => {
    const broker =
      given.text('broker') ?? (command === 'watch' ? env.SEGANET_UPLINK_URL?.split(',')[0].trim() : '');
    const { everyMs, timeoutMs } = DEFAULTS;
    return {
      paths: checkPaths(given.text('paths') ?? (env.SEGANET_UPLINK_PATHS || 'auto')),
      broker: broker ? checkBroker(broker) : null,
      autoBackup: given.flag('auto-backup'),
      limits: readLimits((name) => given.text(name)),
      signals: given.text('signals') ?? '',
      everyMs: checkNumber('every', given.text('every') ?? String(everyMs), 250, 60000),
      timeoutMs: checkNumber('timeout', given.text('timeout') ?? String(timeoutMs), 100, 10000),
      stateDir: given.folder('state-dir') ?? defaultDirectory(env),
      force: given.flag('force'),
      json: given.flag('json')
    };
  });

module.exports = { readArguments };
