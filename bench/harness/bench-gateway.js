'use strict';
// The gateway as a user starts it. It can be killed and started again on the same port and folder.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('./child');
const { splitSettings, writeFlow } = require('./flow-settings');
const { root } = require('./gateway');
const { freePort, waitForPort } = require('./net');

/** The engine of flows/gateway.json. */
const engineId = 'seganet-engine-1';

/** SEGANET_TEST_GATEWAY replaces the command, as in the tests. @returns {string[]} */
function command() {
  if (process.env.SEGANET_TEST_GATEWAY) return JSON.parse(process.env.SEGANET_TEST_GATEWAY);
  return [process.execPath, '--max-semi-space-size=1', 'native/node/run.js', 'flows/launcher/start.js'];
}

class BenchGateway {
  /**
   * @param {{cloud: import('./cloud').Cloud, env?: Record<string, string>,
   *          cpus?: string, openFiles?: number, statistics?: boolean, flow?: object[],
   *          within?: string[]}} options
   *        env: settings as in flow-settings.js
   *        statistics: opens the admin API, which stats() needs
   *        flow: nodes in addition to those of flows/gateway.json, or in place of those with the same id
   *        within: command prefix, such as that of a control group
   */
  constructor(options) {
    this.options = options;
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-home-'));
    this.port = 0;
    this.editorPort = 0;
    /** @type {Child | undefined} */
    this.child = undefined;
    /** Output of the previous processes. */
    this.history = '';
    const { env, properties } = splitSettings(options.env ?? {});
    this.env = env;
    if (options.flow || properties.length > 0) writeFlow(this.home, properties, options.flow);
  }

  /** The folder of the log. */
  get logFolder() {
    return this.env.SEGANET_LOG_DIR || path.join(this.home, 'seganet-log', engineId);
  }

  get output() {
    return this.history + (this.child ? this.child.output : '');
  }

  /** Starts the gateway (again) and waits until devices can connect. @returns {Promise<number>} ms until then */
  async start() {
    const { cloud, cpus, openFiles, statistics, within } = this.options;
    this.port = this.port || (await freePort());
    if (statistics) this.editorPort = this.editorPort || (await freePort());
    // The tester's own configuration must not affect the gateway.
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    const variables = {
      ...Object.fromEntries(clean),
      SEGANET_HOME: this.home,
      SEGANET_GATEWAY_ID: 'gw-bench',
      SEGANET_DEVICE_HOST: '127.0.0.1',
      SEGANET_MQTT_PORT: String(this.port),
      SEGANET_UPLINK_URL: cloud.url,
      SEGANET_UPLINK_CA: cloud.files.ca,
      SEGANET_UPLINK_TOPIC: 'gw/{gateway}/{class}',
      SEGANET_RULES: JSON.stringify([{ topic: 'd/+/alarm', class: 1 }]),
      SEGANET_HISTORY: 'suffix', // the sink recognizes the backlog by it
      SEGANET_EDITOR_PORT: statistics ? String(this.editorPort) : 'off',
      ...this.env
    };
    if (this.child) this.history += this.child.output;
    const since = Date.now();
    const [file, ...args] = command();
    const child = new Child(file, args, {
      cpus,
      openFiles,
      within,
      name: 'gateway',
      cwd: root,
      env: variables
    });
    this.child = child;
    try {
      await waitForPort(this.port, '127.0.0.1', 60000, () => Boolean(child.exit));
      if (child.exit) throw new Error(`it exited at once: ${JSON.stringify(child.exit)}`);
    } catch (error) {
      throw new Error(`the gateway did not become ready:\n${child.output.slice(-4000)}`, { cause: error });
    }
    return Date.now() - since;
  }

  /** Sends kill -9 to the whole group and waits until it has ended. */
  async kill() {
    if (!this.child) return;
    this.child.kill('SIGKILL');
    await this.child.exited;
  }

  /** Stops the gateway. @param {number} [timeoutMs] @returns {Promise<boolean>} true if it exited with 0 */
  async stop(timeoutMs = 30000) {
    if (!this.child) return true;
    return (await this.child.stop('SIGTERM', timeoutMs)).code === 0;
  }

  async close() {
    await this.kill();
    fs.rmSync(this.home, { recursive: true, force: true });
  }

  /** Returns the engine's stats from the admin API, undefined if it does not answer. @returns {Promise<any>} */
  async stats() {
    try {
      const url = `http://127.0.0.1:${this.editorPort}/seganet/engines/${engineId}/stats`;
      const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }
}

/** @param {BenchGateway} gateway that runs @returns {import('../systems').System} */
const systemOf = (gateway) => ({
  port: gateway.port,
  parts: ['gateway'],
  forwards: true,
  gateway,
  stop: () => gateway.stop(),
  kill: () => gateway.kill(),
  restart: () => gateway.start(),
  close: () => gateway.close(),
  get children() {
    return gateway.child ? [gateway.child] : [];
  }
});

module.exports = { BenchGateway, engineId, systemOf };
