'use strict';
// The command line of npm run cloud.

const path = require('node:path');
const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { parseOptions } = require('../../../nodes/lib/base/cli/usage');

const EXIT = { OK: 0, CANNOT: 1, USAGE: 2 };
const DEFAULTS = { port: 5683, editorPort: 1880, loginPort: 3000, everySeconds: 5 };
const MOST_SECONDS = 3600;
const BROKERS = /^[^\s,:/@]+:\d{1,5}(,[^\s,:/@]+:\d{1,5})*$/;

const HELP = `npm run cloud -- [options]

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

docs/ocf.md describes the cloud.`;

/**
 * @typedef {object} Options
 * @property {number} port
 * @property {number} editorPort
 * @property {number} loginPort
 * @property {number} everySeconds
 * @property {string} home absolute; '' = a temporary folder
 * @property {string} kafka '' = none
 */

/** @param {string} message */
const usage = (message) => new CliError(`${message} See npm run cloud -- --help.`, EXIT.USAGE);

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Options | null} null: print the help
 * @throws {CliError}
 */
function readArguments(args, env = process.env) {
  /** @type {Record<string, { type: 'string' | 'boolean', short?: string }>} */
  const specs = { help: { type: 'boolean', short: 'h' } };
  for (const name of ['port', 'editor-port', 'login-port', 'every']) specs[name] = { type: 'string' };
  const { values } = parseOptions(args, specs, usage);
  if (values.help) return null;
  const number = (/** @type {string} */ name, /** @type {number} */ most, /** @type {number} */ fallback) => {
    if (values[name] === undefined) return fallback;
    const text = String(values[name]);
    if (!/^\d{1,6}$/.test(text) || Number(text) < 1 || Number(text) > most) {
      throw usage(`--${name} takes a whole number from 1 to ${most}.`);
    }
    return Number(text);
  };
  const options = {
    port: number('port', 65535, DEFAULTS.port),
    editorPort: number('editor-port', 65535, DEFAULTS.editorPort),
    loginPort: number('login-port', 65535, DEFAULTS.loginPort),
    everySeconds: number('every', MOST_SECONDS, DEFAULTS.everySeconds),
    home: env.SEGANET_HOME?.trim() ? path.resolve(env.SEGANET_HOME.trim(), 'cloud') : '',
    kafka: env.SEGANET_KAFKA?.trim() ?? ''
  };
  if (new Set([options.port, options.editorPort, options.loginPort]).size < 3) {
    throw usage('--port, --editor-port and --login-port must differ.');
  }
  if (options.kafka && !BROKERS.test(options.kafka)) {
    throw usage(`SEGANET_KAFKA must be host:port, or several with commas, not '${options.kafka}'.`);
  }
  return options;
}

module.exports = { EXIT, HELP, readArguments };
