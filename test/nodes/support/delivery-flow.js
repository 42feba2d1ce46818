'use strict';
// Flows whose source acknowledges messages when they are delivered: real devices, the real engine, nodes of Node-RED,
// and a cloud that acknowledges when the test says so.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { hooks } = require('@node-red/util');
const { freePort } = require('../../../bench/harness/broker');
const { replaceModules } = require('../../../nodes/lib/engine/modules');
const gateway = require('./gateway');
const { HeldCloud, native } = require('./held-cloud');

const { helper, tab, engine, broker, node, load, until, parts } = gateway;
const core = [
  'common/05-junction',
  'common/24-complete',
  'common/25-catch',
  'common/60-link',
  'function/10-function',
  'function/10-switch',
  'function/89-delay',
  'sequence/17-split'
].map((name) => require(`@node-red/nodes/core/${name}.js`));

const uplink = node('cloud', 'uplink', { broker: 'broker' });
const delivered = { acknowledgeMessages: 'delivered', deliveryTimeoutS: '20' };

const turns = (ms = 100) => new Promise((resolve) => setTimeout(resolve, ms));
const host = () => helper.getNode('engine').host;

/** A function node. */
const func = (id, code, outputs, ...wires) =>
  node(id, 'function', { func: code, outputs, wires: wires.map((to) => [to].flat()), libs: [] });

class DeliveryFlow {
  constructor() {
    this.cloud = new HeldCloud();
    /** @type {mqtt.MqttClient[]} */
    this.clients = [];
    this.port = 0;
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-deliveries-'));
  }

  async prepare() {
    this.port = await freePort();
  }

  async end() {
    await Promise.all(this.clients.map((client) => client.endAsync(true)));
    this.cloud.open();
    await helper.unload();
    replaceModules();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** The source `dev`. */
  source(type, properties, ...wires) {
    return node('dev', type, { ...delivered, port: String(this.port), ...properties }, ...wires);
  }

  /** An engine, an uplink `cloud`, and these nodes. */
  flow(...nodes) {
    const settings = { workers: '1', acknowledge: 'safe', logDir: this.folder };
    return [tab, { ...engine, ...settings }, broker, uplink, ...nodes];
  }

  /** Starts a flow of these nodes; a list has the modules of other nodes. */
  async start(...given) {
    const [more, nodes] = Array.isArray(given[0]) ? [given[0], given.slice(1)] : [[], given];
    const uplinkOf = { ...parts.uplink, UplinkThread: this.cloud.Thread };
    const real = () => replaceModules({ ...parts, native, uplink: uplinkOf });
    // The test helper gives nodes a RED without hooks.
    const withHooks = (/** @type {any} */ red) => (red.hooks = hooks);
    await load(this.flow(...nodes), {}, [...core, ...more, real, withHooks]);
    await until(() => host().plan);
  }

  async device(options = {}) {
    const { clients, port } = this;
    const clientId = `d${clients.length + 1}`;
    const own = { host: '127.0.0.1', port, clientId, protocolVersion: 5, reconnectPeriod: 0 };
    const client = mqtt.connect(/** @type {any} */ ({ ...own, ...options }));
    clients.push(client);
    client.on('error', () => {});
    await new Promise((resolve) => client.once('connect', resolve));
    return client;
  }
}

/**
 * Publishes with QoS 1.
 * @returns {{ outcome: string | number }} 'waits', 'acknowledged', a reason code, or 'closed'
 */
function publish(client, payload = '1') {
  const result = { outcome: /** @type {string | number} */ ('waits') };
  client.once('close', () => result.outcome === 'waits' && (result.outcome = 'closed'));
  client.publish('t', payload, { qos: 1 }, (error, packet) => {
    if (result.outcome !== 'waits') return;
    if (!error) result.outcome = packet?.reasonCode || 'acknowledged';
    else if ('code' in error && error.code) result.outcome = Number(error.code);
  });
  return result;
}

const ended = (result) => until(() => result.outcome !== 'waits', 'an end of the PUBLISH');

module.exports = { DeliveryFlow, ended, func, helper, hooks, host, node, publish, turns, until };
