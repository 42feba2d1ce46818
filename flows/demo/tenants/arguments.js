'use strict';
// The command line of npm run tenants, or of seganet-tenants demo in an installed package.

const path = require('node:path');
const { page } = require('../../../nodes/lib/base/texts/page');
const { readNumbers } = require('../command');

const isInstalled = __dirname.includes(`${path.sep}node_modules${path.sep}`);
const COMMAND = isInstalled ? 'seganet-tenants demo' : 'npm run tenants --';
const DEFAULTS = { port: 1883, editorPort: 1880, pagesPort: 8080, sleepSeconds: 10, devices: 10 };
const MOST_SECONDS = 3600;
const MOST_DEVICES = 100;

const HELP = `${COMMAND} [options]

Starts a gateway with two tenants to try out, on this machine only: the front, to which simulated devices connect, the
keeper, and the tenants acme and beta, each a gateway of its own that sleeps. The devices send for a few seconds: their
records wake the tenants. Each tenant is asked for the temperature of room 105. Then the devices are silent, and the
tenants go back to sleep. Prints what happens, with times, and the command that wakes a tenant again. Ctrl-C ends all of
it.

The tenants are processes of this user, which are not isolated from each other. Tenants in containers:
  ${page('use/tenants-keeper.md')}

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

About tenants:
  ${page('use/tenants.md')}`;

/** @typedef {typeof DEFAULTS} Options */

/**
 * @param {string[]} args
 * @returns {Options | null} null: print the help
 * @throws {CliError}
 */
function readArguments(args) {
  const numbers = readNumbers(
    args,
    {
      port: { fallback: DEFAULTS.port },
      'editor-port': { fallback: DEFAULTS.editorPort },
      'pages-port': { fallback: DEFAULTS.pagesPort },
      devices: { most: MOST_DEVICES, fallback: DEFAULTS.devices },
      sleep: { most: MOST_SECONDS, fallback: DEFAULTS.sleepSeconds }
    },
    COMMAND
  );
  return (
    numbers && {
      port: numbers.port,
      editorPort: numbers['editor-port'],
      pagesPort: numbers['pages-port'],
      devices: numbers.devices,
      sleepSeconds: numbers.sleep
    }
  );
}

module.exports = { HELP, readArguments };
