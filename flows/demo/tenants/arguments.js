'use strict';
// The command line of npm run tenants.

const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { parseOptions } = require('../../../nodes/lib/base/cli/usage');

const EXIT = { OK: 0, CANNOT: 1, USAGE: 2 };
const DEFAULTS = { port: 1883, editorPort: 1880, pagesPort: 8080, sleepSeconds: 10, devices: 10 };
const MOST_SECONDS = 3600;
const MOST_DEVICES = 100;

const HELP = `npm run tenants -- [options]

Starts a gateway with two tenants to try out, on this machine only: the front, to which simulated devices connect, the
keeper, and the tenants acme and beta, each a gateway of its own that sleeps. The devices send for a few seconds: their
records wake the tenants. Then they are silent, and the tenants go back to sleep. Prints what happens, with times, and
the command that wakes a tenant again. Ctrl-C ends all of it.

The tenants are processes of this user, which are not isolated from each other. docs/tenants-keeper.md says how tenants
run in containers.

options
  --port N         MQTT port of the front, for devices; default ${DEFAULTS.port}
  --editor-port N  port of the front's editor; default ${DEFAULTS.editorPort}
  --pages-port N   port of the tenants' pages; default ${DEFAULTS.pagesPort}
  --devices N      devices of each tenant: 1 to ${MOST_DEVICES}, default ${DEFAULTS.devices}
  --sleep N        seconds without records until a tenant is stopped: 1 to ${MOST_SECONDS}, default ${DEFAULTS.sleepSeconds}
  --help

exit codes
  0  ended by Ctrl-C             1  it could not start, or a part of it ended
  2  wrong usage

docs/tenants.md describes tenants.`;

/** @typedef {typeof DEFAULTS} Options */

/** @param {string} message */
const usage = (message) => new CliError(`${message} See npm run tenants -- --help.`, EXIT.USAGE);

/**
 * @param {string[]} args
 * @returns {Options | null} null: print the help
 * @throws {CliError}
 */
function readArguments(args) {
  /** @type {Record<string, { type: 'string' | 'boolean', short?: string }>} */
  const specs = { help: { type: 'boolean', short: 'h' } };
  for (const name of ['port', 'editor-port', 'pages-port', 'devices', 'sleep'])
    specs[name] = { type: 'string' };
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
    pagesPort: number('pages-port', 65535, DEFAULTS.pagesPort),
    devices: number('devices', MOST_DEVICES, DEFAULTS.devices),
    sleepSeconds: number('sleep', MOST_SECONDS, DEFAULTS.sleepSeconds)
  };
  if (new Set([options.port, options.editorPort, options.pagesPort]).size < 3) {
    throw usage('--port, --editor-port and --pages-port must differ.');
  }
  return options;
}

module.exports = { EXIT, HELP, readArguments };
