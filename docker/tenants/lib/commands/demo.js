'use strict';
// The demo is a part of the gateway's package: it starts a gateway, too.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { CliError } = require('../base/errors');

const PACKAGE = '@seganet/node-red-gateway';
const DEMO = path.join('flows', 'demo', 'tenants', 'main.js');
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);
/** @type {Record<string, string>} */
const HELP = {
  port: 'MQTT port of the front, for devices; default 1883',
  'editor-port': "port of the front's editor; default 1880",
  'pages-port': "port of the tenants' pages; default 8080",
  devices: 'devices of each tenant; default 10',
  sleep: 'seconds without records until a tenant is stopped; default 10'
};

/** @param {string} folder @returns {string} the demo in this package, '' = it is another one */
function demoIn(folder) {
  try {
    const { name } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    const file = path.join(folder, DEMO);
    return name === PACKAGE && fs.existsSync(file) ? file : '';
  } catch {
    return '';
  }
}

/** @param {string} from a folder @returns {string} the demo of the gateway around or beside it, '' = none */
function findDemo(from) {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const found = demoIn(folder) || demoIn(path.join(folder, 'node_modules', ...PACKAGE.split('/')));
    if (found || folder === path.dirname(folder)) return found;
  }
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'demo',
  summary: 'starts a gateway with two tenants to try out, until Ctrl-C',
  more: `Simulated devices wake the tenants, which sleep again when the devices are silent. Needs the package ${PACKAGE},
which it looks for in the folders around this program and the current one. In a copy of that package's repository, "npm run
tenants" is the same.`,
  usage: '[options]',
  operands: [0, 0],
  options: Object.fromEntries(
    Object.entries(HELP).map(([name, help]) => [name, { type: 'string', value: 'N', help }])
  ),
  async run({ values, env }) {
    const file = findDemo(__dirname) || findDemo(process.cwd());
    if (!file) {
      throw new CliError(
        `The demo needs the package ${PACKAGE}, which is not here. Install it with "npm install ${PACKAGE}", and run the command in the same folder.`
      );
    }
    const args = Object.keys(HELP).flatMap((name) =>
      values[name] === undefined ? [] : [`--${name}`, String(values[name])]
    );
    const child = spawn(process.execPath, [file, ...args], {
      stdio: 'inherit',
      // It ends with this process.
      env: { ...env, SEGANET_LAUNCHER_PID: String(process.pid) }
    });
    for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? 128 + os.constants.signals[signal ?? 'SIGKILL']));
    });
  }
};
