'use strict';
// The gateway as `npm start` runs it, on a home folder that outlives the process.

const fs = require('node:fs');
const { Child } = require('../../../../bench/harness/child');
const { splitSettings, writeFlow } = require('../../../../bench/harness/flow-settings');
const { root } = require('../../../../bench/harness/gateway');
const { waitForPort } = require('../../../../bench/harness/net');
const { ProcessSystem } = require('./process');

const RULES = [1, 2, 3, 4].map((recordClass) => ({ topic: `d/+/c${recordClass}`, class: recordClass }));

/**
 * Limits that are fine for a year in the field would make each run wait for them.
 */
const CHANGES = {
  'seganet-uplink-broker.reconnectMinMs': '100',
  'seganet-uplink-broker.reconnectMaxMs': '1000',
  'seganet-uplink-broker.ackTimeoutMs': '2000',
  'seganet-uplink-broker.userTimeoutMs': '1500'
};

class GatewaySystem extends ProcessSystem {
  /**
   * @param {object} options
   * @param {string} options.home
   * @param {number} options.devicePort
   * @param {number} options.uplinkPort
   * @param {number} options.editorPort
   * @param {string} options.logFolder where its log is
   * @param {Record<string, string>} options.env settings as in flow-settings.js
   */
  constructor(options) {
    super(options);
    this.editorPort = options.editorPort;
    this.logFolder = options.logFolder;
    const { env, properties } = splitSettings({ ...CHANGES, ...options.env });
    this.env = env;
    this.properties = properties;
  }

  get devicesReset() {
    return true;
  }

  /** A separate flow in its home: the shipped one with shorter limits. */
  prepare() {
    fs.mkdirSync(this.home, { recursive: true, mode: 0o700 });
    writeFlow(this.home, this.properties);
  }

  spawn() {
    // No variable of the tester's own configuration may reach it.
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    const env = {
      ...Object.fromEntries(clean),
      SEGANET_HOME: this.home,
      SEGANET_LOG_DIR: this.logFolder,
      SEGANET_GATEWAY_ID: 'gw-history',
      SEGANET_DEVICE_HOST: '127.0.0.1',
      SEGANET_MQTT_PORT: String(this.devicePort),
      SEGANET_UPLINK_URL: `mqtt://127.0.0.1:${this.uplinkPort}`,
      SEGANET_RULES: JSON.stringify(RULES),
      SEGANET_EDITOR_PORT: String(this.editorPort),
      ...this.env
    };
    const args = ['native/node/run.js', 'flows/launcher/start.js'];
    return [new Child(process.execPath, args, { name: 'gateway', cwd: root, env })];
  }

  /** @param {string} url @param {RequestInit} [options] */
  #fetch(url, options = {}) {
    const signal = AbortSignal.timeout(options.method === 'POST' ? 25000 : 2000);
    return fetch(`http://127.0.0.1:${this.editorPort}${url}`, { signal, ...options });
  }

  /** @returns {Promise<any>} */
  async stats() {
    try {
      const answer = await this.#fetch('/seganet/engines/seganet-engine-1/stats');
      return answer.ok ? await answer.json() : null;
    } catch {
      return null; // it is starting, or gone
    }
  }

  /** Waits until the editor's interface answers; devices may find no listener yet. */
  async answers(timeoutMs = 30000) {
    const { children } = this;
    await waitForPort(this.editorPort, '127.0.0.1', timeoutMs, () => children.some(({ exit }) => exit));
  }

  /** @returns {Promise<any[]>} the running flow */
  async flow() {
    return /** @type {any[]} */ (await (await this.#fetch('/flows')).json());
  }

  /**
   * Deploys as the editor does.
   * @param {'full' | 'flows' | 'nodes' | 'reload'} type @param {any[]} flow
   * @returns {Promise<number>} HTTP status, 0 = no answer
   */
  async deployFlow(type, flow) {
    try {
      const headers = { 'content-type': 'application/json', 'Node-RED-Deployment-Type': type };
      const answer = await this.#fetch('/flows', { method: 'POST', headers, body: JSON.stringify(flow) });
      return answer.status;
    } catch {
      return 0;
    }
  }

  /**
   * @param {'full' | 'flows' | 'nodes' | 'reload'} type @param {string} changed id of the node that gets another name
   * @returns {Promise<number>} HTTP status, 0 = no answer
   */
  async deploy(type, changed) {
    try {
      const rename = (/** @type {any} */ node) => ({ ...node, name: `changed ${Math.random()}` });
      const flow = await this.flow();
      return await this.deployFlow(
        type,
        flow.map((node) => (node.id === changed ? rename(node) : node))
      );
    } catch {
      return 0;
    }
  }
}

module.exports = { GatewaySystem };
