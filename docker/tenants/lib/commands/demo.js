'use strict';
// The demo starts a gateway, too, so it is a process of its own.

const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');

const DEMO = path.join(__dirname, '..', '..', '..', '..', 'flows', 'demo', 'tenants', 'main.js');
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);
/** @type {Record<string, string>} */
const HELP = {
  port: 'MQTT port of the front, for devices; default 1883',
  'editor-port': "port of the front's editor; default 1880",
  'pages-port': "port of the tenants' pages; default 8080",
  devices: 'devices of each tenant; default 10',
  sleep: 'seconds without records until a tenant is stopped; default 10'
};

/** @type {import('./index').Command} */
module.exports = {
  name: 'demo',
  summary: 'starts a gateway with two tenants to try out, until Ctrl-C',
  more: `Simulated devices wake the tenants, which sleep again when the devices are silent. In a copy of the package's
repository, "npm run tenants" is the same.`,
  usage: '[options]',
  operands: [0, 0],
  options: Object.fromEntries(
    Object.entries(HELP).map(([name, help]) => [name, { type: 'string', value: 'N', help }])
  ),
  async run({ values, env }) {
    const args = Object.keys(HELP).flatMap((name) =>
      values[name] === undefined ? [] : [`--${name}`, String(values[name])]
    );
    const child = spawn(process.execPath, [DEMO, ...args], {
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
