'use strict';
// The gateway as a user starts it: a child process, configured by environment variables and properties in its flow.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('./child');
const { splitSettings, writeFlow } = require('./flow-settings');
const { freePort, waitForPort } = require('./net');

const root = path.join(__dirname, '../..');

/**
 * SEGANET_TEST_GATEWAY (a JSON array) replaces the command, to run the same tests against another
 * build, such as an installed package or a container.
 * @returns {string[]}
 */
function gatewayCommand() {
  if (process.env.SEGANET_TEST_GATEWAY) return JSON.parse(process.env.SEGANET_TEST_GATEWAY);
  return [process.execPath, '--max-semi-space-size=1', 'native/node/run.js', 'flows/launcher/start.js'];
}

class Gateway {
  /** @param {Child} child @param {number} port @param {string} home */
  constructor(child, port, home) {
    this.child = child;
    this.host = '127.0.0.1';
    this.port = port;
    this.home = home;
  }

  get url() {
    return `mqtt://${this.host}:${this.port}`;
  }

  get alive() {
    return !this.child.exit;
  }

  get output() {
    return this.child.output;
  }

  /** SIGTERM: drains and exits. @returns {Promise<{code: number | null, signal: string | null}>} */
  async stop(timeoutMs = 15000) {
    try {
      return await this.child.stop('SIGTERM', timeoutMs);
    } finally {
      fs.rmSync(this.home, { recursive: true, force: true });
    }
  }
}

/**
 * Starts the gateway with `cloud` as its broker and waits until devices can connect and the uplink is connected.
 * @param {import('./cloud').Cloud} cloud
 * @param {{env?: Record<string, string>, cpus?: string, openFiles?: number, gatewayId?: string}} [options]
 *        env: settings as in flow-settings.js
 * @returns {Promise<Gateway>}
 */
async function startGateway(cloud, options = {}) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-home-'));
  const port = await freePort();
  const gatewayId = options.gatewayId || 'gw-test';
  const settings = splitSettings(options.env ?? {});
  if (settings.properties.length > 0) writeFlow(settings.env.SEGANET_HOME ?? home, settings.properties);
  // Ignore SEGANET_* variables of the tester's own environment.
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
  const env = {
    ...Object.fromEntries(clean),
    SEGANET_HOME: home,
    SEGANET_GATEWAY_ID: gatewayId,
    SEGANET_DEVICE_HOST: '127.0.0.1',
    SEGANET_MQTT_PORT: String(port),
    SEGANET_UPLINK_URL: cloud.url,
    SEGANET_UPLINK_CA: cloud.files.ca,
    SEGANET_UPLINK_TOPIC: 'gw/{gateway}/{class}',
    SEGANET_RULES: JSON.stringify([{ topic: 'd/+/alarm', class: 1 }]),
    SEGANET_EDITOR_PORT: 'off',
    ...settings.env
  };
  const [command, ...args] = gatewayCommand();
  const child = new Child(command, args, { ...options, name: 'gateway', cwd: root, env });
  try {
    await waitForPort(port, '127.0.0.1', 30000, () => Boolean(child.exit));
    if (child.exit) throw new Error(`the gateway exited immediately: ${JSON.stringify(child.exit)}`);
    // The broker tells whether the uplink is connected: every client other than the receivers is the gateway.
    await cloud.waitForClient(/^(?!receiver|bench-)/, 20000);
  } catch (error) {
    await child.stop('SIGKILL');
    fs.rmSync(home, { recursive: true, force: true });
    throw new Error(`the gateway did not become ready; its output:\n${child.output.slice(-4000)}`, {
      cause: error
    });
  }
  return new Gateway(child, port, home);
}

exports.Gateway = Gateway;
exports.startGateway = startGateway;
exports.gatewayCommand = gatewayCommand;
exports.root = root;
