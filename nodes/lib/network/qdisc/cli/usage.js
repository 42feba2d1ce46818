'use strict';
// The command line of seganet-net.

const { readCommandLine } = require('../../../base/cli/usage');
const {
  DEFAULT_SHARE,
  MOST_SHARE,
  checkInterface,
  checkRate,
  checkScheme,
  checkShare,
  usage
} = require('../qdisc-options');
const { LIMITS } = require('../link-bitrate');
const { DEFAULT_DIRECTORY } = require('../qdisc-state');

const OPTIONS = {
  interface: `  --interface NAME   the network interface; default: that of the default route`,
  rate: `  --rate RATE        just below the real rate of the uplink: ${LIMITS}, such as 2mbit;
                     without it nothing is shaped, and priority works only if the interface itself is what is slow`,
  scheme: `  --scheme NAME      auto (default: the best that the kernel has), htb, tbf-prio, tbf-pfifo_fast with --rate,
                     prio, pfifo_fast without`,
  share: `  --share PERCENT    of the rate that each lower band is guaranteed (htb), 1 to ${MOST_SHARE}; default ${DEFAULT_SHARE}`,
  force: `  --force            even if somebody has given the interface a queue by hand`,
  'state-dir': `  --state-dir DIR    where apply keeps what was there before; default ${DEFAULT_DIRECTORY}`,
  json: `  --json             one JSON object`
};

/** @typedef {keyof typeof OPTIONS} Name */

/** @type {Record<string, { says: string, more: string, options: Name[] }>} */
const COMMANDS = {
  plan: {
    says: 'prints the commands that apply would run and why, and what undo would do; changes nothing',
    more: 'Works without root; it says what it could not find out.',
    options: ['interface', 'rate', 'scheme', 'share', 'state-dir', 'json']
  },
  apply: {
    says: 'sets the interface up so that urgent packets go first; all of it or nothing',
    more: 'Needs root or CAP_NET_ADMIN. Again with the same arguments it does nothing; with others it changes what is there.',
    options: ['interface', 'rate', 'scheme', 'share', 'force', 'state-dir', 'json']
  },
  check: {
    says: 'tells whether urgent packets go first, whoever set it up, and what the bands have counted',
    more: 'Needs no rights.',
    options: ['interface', 'state-dir', 'json']
  },
  undo: {
    says: 'brings back what was there before apply',
    more: 'Needs root or CAP_NET_ADMIN. Without anything to undo it does nothing.',
    options: ['interface', 'force', 'state-dir', 'json']
  }
};

const EXITS = `exit codes
  0  done, or in order         1  not in order, refused, or failed and taken back
  2  wrong usage               3  cannot tell or cannot do: tc, rights or the interface are missing`;

const MANUAL = {
  name: 'seganet-net',
  purpose:
    "Lets the gateway's urgent packets overtake the others where they wait: in the network interface that leads to the cloud.",
  options: OPTIONS,
  flags: ['force', 'json'],
  commands: COMMANDS,
  exits: EXITS,
  documents: 'docs/network.md',
  usage
};

/** @param {string[]} args of the command line @returns {{ command: string, text: string, options: import('../prepare-qdisc').Options | null }} */
function readArguments(args) {
  const { command, text: shown, values } = readCommandLine(MANUAL, args);
  if (!values) return { command, text: shown, options: null };
  const text = (/** @type {Name} */ name) => /** @type {string | undefined} */ (values[name]);
  const [name, rate] = [text('interface'), text('rate')];
  const directory = text('state-dir') ?? DEFAULT_DIRECTORY;
  if (directory === '' || directory.includes('\0')) throw usage('--state-dir takes a folder.');
  const options = {
    interface: name === undefined ? '' : checkInterface(name),
    rate: rate === undefined ? 0 : checkRate(rate),
    share: checkShare(text('share') ?? String(DEFAULT_SHARE)),
    scheme: checkScheme(text('scheme') ?? 'auto'),
    stateDir: directory,
    force: values.force === true,
    json: values.json === true
  };
  return { command, text: '', options };
}

module.exports = { readArguments };
