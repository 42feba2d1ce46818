'use strict';
// The command line of npm run overlay.

const { usageOf } = require('../../../nodes/lib/base/cli/command-line');
const { readNumbers } = require('../command');
const { KINDS } = require('./nat-rules');

const COMMAND = 'npm run overlay --';
const DEFAULTS = {
  port: 1883,
  editorPort: 1880,
  hubEditorPort: 1881,
  servicesPort: 15443,
  relayPort: 13478,
  seconds: 2
};
const MOST_SECONDS = 3600;

const HELP = `${COMMAND} [options]

Starts an overlay to try out, on this machine only: its services (authentication, nodes, relay), and two gateways that
join it, gw and hub. A device sends 20 records a second to gw, whose uplink reaches the MQTT broker behind hub by name:
mqtt://hub:1883. The first record may go by the relay. Then the path is direct; direct paths are switched off, so that
the relay carries; and they are switched on again. The connection of the uplink stays. Prints what happens, with times,
and commands to go on with. Ctrl-C ends all of it.

Needs the program seganet-overlay (npm run overlay:build), and no privilege without --nat.

options
  --nat A,B            gw behind a NAT of kind A and hub behind one of kind B, in network namespaces of their own:
                       needs root, ip and nft. Kinds: ${KINDS.join(', ')}
                       (port,port is a usual pair; symmetric,symmetric is always relayed). The direct path is then cut
                       in the NAT, so the nodes have to notice it
  --seconds N          seconds of each part: 1 to ${MOST_SECONDS}, default ${DEFAULTS.seconds}
  --port N             MQTT port of gw, for devices; default ${DEFAULTS.port}
  --editor-port N      port of gw's editor; default ${DEFAULTS.editorPort}
  --hub-editor-port N  port of hub's editor; default ${DEFAULTS.hubEditorPort}
  --services-port N    TCP port of the services; default ${DEFAULTS.servicesPort}
  --relay-port N       UDP and TCP port of the relay; default ${DEFAULTS.relayPort}
  --help

exit codes
  0  ended by Ctrl-C             1  it could not start, or a part of it ended
  2  wrong usage

docs/use/overlay.md describes the overlay.`;

/** @typedef {typeof DEFAULTS & { nat: [string, string] | null }} Options nat: kinds at gw and at hub; null = no NAT */

/**
 * Takes --nat out of the arguments; the other options are numbers.
 * @param {string[]} args
 * @returns {{ nat: [string, string] | null, rest: string[] }}
 * @throws {CliError}
 */
function takeNat(args) {
  const at = args.findIndex((arg) => arg === '--nat' || arg.startsWith('--nat='));
  if (at < 0) return { nat: null, rest: args };
  const isJoined = args[at] !== '--nat';
  const text = isJoined ? args[at].slice('--nat='.length) : (args[at + 1] ?? '');
  const [a, b, ...more] = text.split(',');
  if (!KINDS.includes(a) || !KINDS.includes(b) || more.length > 0)
    throw usageOf(COMMAND)(`--nat takes two kinds such as port,symmetric, of ${KINDS.join(', ')}.`);
  return { nat: [a, b], rest: args.toSpliced(at, isJoined ? 1 : 2) };
}

/**
 * @param {string[]} args
 * @returns {Options | null} null: print the help
 * @throws {CliError}
 */
function readArguments(args) {
  const { nat, rest } = args.includes('--help') ? { nat: null, rest: ['--help'] } : takeNat(args);
  const numbers = readNumbers(
    rest,
    {
      port: { fallback: DEFAULTS.port },
      'editor-port': { fallback: DEFAULTS.editorPort },
      'hub-editor-port': { fallback: DEFAULTS.hubEditorPort },
      'services-port': { fallback: DEFAULTS.servicesPort },
      'relay-port': { fallback: DEFAULTS.relayPort },
      seconds: { most: MOST_SECONDS, fallback: DEFAULTS.seconds }
    },
    COMMAND
  );
  return (
    numbers && {
      nat,
      port: numbers.port,
      editorPort: numbers['editor-port'],
      hubEditorPort: numbers['hub-editor-port'],
      servicesPort: numbers['services-port'],
      relayPort: numbers['relay-port'],
      seconds: numbers.seconds
    }
  );
}

module.exports = { HELP, readArguments };
