'use strict';
// The command line of npm run cloud.

const path = require('node:path');
const { usageOf } = require('../../../nodes/lib/base/cli/command-line');
const { readNumbers } = require('../command');

const COMMAND = 'npm run cloud --';
const DEFAULTS = { port: 5683, editorPort: 1880, loginPort: 3000, everySeconds: 5 };
const MOST_SECONDS = 3600;
const BROKERS = /^[^\s,:/@]+:\d{1,5}(,[^\s,:/@]+:\d{1,5})*$/;

const HELP = `${COMMAND} [options]

Starts an OCF cloud to try it out, on this machine only: a gateway, a simulated lamp of the user alice, and a controller
that finds, reads, observes and switches the lamp. Prints an access code for a device of your own, the address of a login
page for more codes, and a line for each notification. Ctrl-C ends all of it.

options
  --port N         port of the cloud, for devices; default ${DEFAULTS.port}
  --editor-port N  port of the editor; default ${DEFAULTS.editorPort}
  --login-port N   port of the login page; default ${DEFAULTS.loginPort}
  --every N        seconds between two switchings of the lamp: 1 to ${MOST_SECONDS}, default ${DEFAULTS.everySeconds}
  --help

variables
  SEGANET_HOME     a folder in which accounts stay, in its subfolder cloud; without it, a temporary folder that is
                   removed at the end
  SEGANET_KAFKA    brokers of an Apache Kafka, as host:port,host:port; records of the cloud go to its topic seganet.normal

exit codes
  0  ended by Ctrl-C             1  it could not start, or the gateway ended
  2  wrong usage

docs/use/ocf.md describes the cloud.`;

/**
 * @typedef {object} Options
 * @property {number} port
 * @property {number} editorPort
 * @property {number} loginPort
 * @property {number} everySeconds
 * @property {string} home absolute; '' = a temporary folder
 * @property {string} kafka '' = none
 */

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Options | null} null: print the help
 * @throws {CliError}
 */
function readArguments(args, env = process.env) {
  const numbers = readNumbers(
    args,
    {
      port: { fallback: DEFAULTS.port },
      'editor-port': { fallback: DEFAULTS.editorPort },
      'login-port': { fallback: DEFAULTS.loginPort },
      every: { most: MOST_SECONDS, fallback: DEFAULTS.everySeconds }
    },
    COMMAND
  );
  if (!numbers) return null;
  const kafka = env.SEGANET_KAFKA?.trim() ?? '';
  if (kafka && !BROKERS.test(kafka)) {
    throw usageOf(COMMAND)(`SEGANET_KAFKA must be host:port, or several with commas, not '${kafka}'.`);
  }
  return {
    port: numbers.port,
    editorPort: numbers['editor-port'],
    loginPort: numbers['login-port'],
    everySeconds: numbers.every,
    home: env.SEGANET_HOME?.trim() ? path.resolve(env.SEGANET_HOME.trim(), 'cloud') : '',
    kafka
  };
}

module.exports = { HELP, readArguments };
