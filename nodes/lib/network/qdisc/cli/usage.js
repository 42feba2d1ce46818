'use strict';
// Reads the command line of seganet-net.

const { readCommandLine } = require('../../../base/cli/command-line');
const {
  DEFAULT_SHARE,
  MOST_SHARE,
  checkInterface,
  checkRate,
  checkScheme,
  checkShare
} = require('../qdisc-options');
const { LIMITS } = require('../link-bitrate');
const { DEFAULT_DIRECTORY } = require('../qdisc-state');

const OPTIONS = {
  interface: `  --interface NAME   the network interface; default: that of the default route`,
  rate: `  --rate RATE        slightly below the real rate of the uplink: ${LIMITS}, such as 2mbit;
                     without it there is no shaping, and priority works only if the interface itself is the bottleneck`,
  scheme: `  --scheme NAME      auto (default: the best that the kernel supports), htb, tbf-prio, tbf-pfifo_fast with --rate,
                     prio, pfifo_fast without`,
  share: `  --share PERCENT    guaranteed share of the rate for each lower band (htb), 1 to ${MOST_SHARE}; default ${DEFAULT_SHARE}`,
  force: `  --force            replace a queue that was set up by hand`,
  'state-dir': `  --state-dir DIR    where apply saves the previous state; default ${DEFAULT_DIRECTORY}`,
  json: `  --json             print one JSON object`
};

/** @type {Record<string, { says: string, more: string, options: (keyof typeof OPTIONS)[] }>} */
const COMMANDS = {
  plan: {
    says: 'prints the commands that apply would run and why, and what undo would do; changes nothing',
    more: 'Works without root, and lists what it could not determine.',
    options: ['interface', 'rate', 'scheme', 'share', 'state-dir', 'json']
  },
  apply: {
    says: 'sets up the interface so that urgent packets go first, completely or not at all',
    more: 'Requires root or CAP_NET_ADMIN. With the same arguments again, it does nothing; with others, it changes the set-up.',
    options: ['interface', 'rate', 'scheme', 'share', 'force', 'state-dir', 'json']
  },
  check: {
    says: 'shows whether urgent packets go first, whatever set that up, and the counters of the bands',
    more: 'Requires no privileges.',
    options: ['interface', 'state-dir', 'json']
  },
  undo: {
    says: 'restores the state before apply',
    more: 'Requires root or CAP_NET_ADMIN. Does nothing if there is nothing to undo.',
    options: ['interface', 'force', 'state-dir', 'json']
  }
};

const EXITS = `exit codes
  0  done, or in order         1  not in order, refused, or failed and rolled back
  2  wrong usage               3  cannot check or change: tc, privileges or the interface are missing`;

const PROGRAM = {
  name: 'seganet-net',
  commands: COMMANDS,
  flags: ['force', 'json'],
  help: {
    purpose:
      "Lets the gateway's urgent packets overtake others in the queue of the network interface that leads to the cloud.",
    options: OPTIONS,
    exits: EXITS,
    documents: ['use/network.md']
  }
};

/** @param {string[]} args of the command line */
const readArguments = (args) =>
  readCommandLine(PROGRAM, args, (given) => {
    const [name, rate] = [given.text('interface'), given.text('rate')];
    return {
      interface: name === undefined ? '' : checkInterface(name),
      rate: rate === undefined ? 0 : checkRate(rate),
      share: checkShare(given.text('share') ?? String(DEFAULT_SHARE)),
      scheme: checkScheme(given.text('scheme') ?? 'auto'),
      stateDir: given.folder('state-dir') ?? DEFAULT_DIRECTORY,
      force: given.flag('force'),
      json: given.flag('json')
    };
  });

module.exports = { readArguments };
