'use strict';
// The gateway as a user starts it: a child process, configured by the environment alone.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('./child');
const { freePort, waitForPort } = require('./net');

const root = path.join(__dirname, '../..');

/**
 * SEGANET_TEST_GATEWAY replaces the command, as a JSON array, to run the same tests against another
 * build: an installed package, a container.
 * @returns {string[]}
 */
function gatewayCommand() {
  if (process.env.SEGANET_TEST_GATEWAY) return JSON.parse(process.env.SEGANET_TEST_GATEWAY);
  return [process.execPath, '--max-semi-space-size=1', 'flows/launcher/run.js', 'flows/launcher/start.js'];
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

  /** SIGTERM: drains and ends. @returns {Promise<{code: number | null, signal: string | null}>} */
  async stop(timeoutMs = 15000) {
    try {
      return await this.child.stop('SIGTERM', timeoutMs);
    } finally {
      fs.rmSync(this.home, { recursive: true, force: true });
    }
  }
}

/**
 * Starts the gateway towards `cloud` and waits until devices can connect and the uplink is there.
 * @param {import('./cloud').Cloud} cloud
 * @param {{env?: Record<string, string>, cpus?: string, openFiles?: number, gatewayId?: string}} [options]
 * @returns {Promise<Gateway>}
 */
async function startGateway(cloud, options = {}) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-home-'));
  const port = await freePort();
  const gatewayId = options.gatewayId || 'gw-test';
  // Nothing of the tester's own configuration may leak in.
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
    ...options.env
  };
  const [command, ...args] = gatewayCommand();
  const child = new Child(command, args, { ...options, name: 'gateway', cwd: root, env });
  try {
    await waitForPort(port, '127.0.0.1', 30000, () => Boolean(child.exit));
    if (child.exit) throw new Error(`it ended at once: ${JSON.stringify(child.exit)}`);
    // The cloud knows best whether the uplink is there: every client but the receivers is the gateway.
    await cloud.waitForClient(/^(?!receiver|bench-)/, 20000);
  } catch (error) {
    await child.stop('SIGKILL');
    fs.rmSync(home, { recursive: true, force: true });
    throw new Error(`the gateway did not get ready; its output:\n${child.output.slice(-4000)}`, {
      cause: error
    });
  }
  return new Gateway(child, port, home);
}

exports.Gateway = Gateway;
exports.startGateway = startGateway;
exports.gatewayCommand = gatewayCommand;
exports.root = root;
