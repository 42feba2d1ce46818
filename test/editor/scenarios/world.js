'use strict';

// What a scenario meets in the test: Node-RED with this palette, the editor in a browser, brokers as clouds, devices.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { startMosquitto } = require('../../../bench/harness/cloud');
const { eventually, waitForPort } = require('../../../bench/harness/net');
const { NodeRed, linkPalette } = require('../../fixtures/gateway/palette');
const { root } = require('../../fixtures/gateway/packed');
const { browserPath, openEditor, nodesOf } = require('../support/editor');
const { importExample, deploy, deleteTab } = require('../support/import');

/** What the editor shows before an import. */
const EMPTY = [
  { id: 'emptytab', type: 'tab', label: 'Flow 1' },
  { id: 'emptynote', type: 'comment', z: 'emptytab', name: 'empty', x: 100, y: 60, wires: [] }
];

/** @typedef {{ topic: string, payload: Buffer, properties: any }} Arrival */

/**
 * A mosquitto, and everything that arrives there. It keeps the session of the test's client across a restart: a record
 * that arrives before that client does is not lost.
 */
class Cloud {
  /** @param {string} folder @param {string[]} listeners such as '1884 127.0.0.1' */
  static async start(folder, listeners) {
    const [port, host] = listeners[0].split(' ');
    const store = path.join(folder, `cloud-${port}`);
    fs.mkdirSync(store, { recursive: true });
    const log = ['log_dest stderr', 'log_type all'];
    const kept = ['persistence true', `persistence_location ${store}/`];
    const lines = [...log, ...kept, ...listeners.map((listener) => `listener ${listener}`)];
    const broker = startMosquitto(folder, `cloud-${port}`, lines);
    await waitForPort(Number(port), host, 10000, () => Boolean(broker.exit));
    const cloud = new Cloud(broker);
    cloud.client = mqtt.connect({
      host,
      port: Number(port),
      clientId: 'receiver',
      protocolVersion: 5,
      clean: false,
      properties: { sessionExpiryInterval: 600 },
      reconnectPeriod: 100
    });
    cloud.client.on('error', () => {});
    cloud.client.on('message', (topic, payload, { properties }) =>
      cloud.arrivals.push({ topic, payload, properties })
    );
    await cloud.client.subscribeAsync('#', { qos: 1 });
    return cloud;
  }

  /** @param {import('../../../bench/harness/child').Child} broker */
  constructor(broker) {
    this.broker = broker;
    /** @type {Arrival[]} */
    this.arrivals = [];
    /** @type {mqtt.MqttClient | undefined} */
    this.client = undefined;
  }

  /** The records of all envelopes that arrived; `history`: the envelope came from the log. */
  get records() {
    return this.arrivals.flatMap(({ topic, payload, properties }) =>
      topic.startsWith('gw/')
        ? linesOf(payload).map((line) => ({ ...line, topic, history: isHistory(properties) }))
        : []
    );
  }

  /** @param {(arrival: Arrival) => boolean} matches @param {string} what @param {number} [timeoutMs] */
  arrives(matches, what, timeoutMs = 20000) {
    return eventually(() => this.arrivals.find(matches), { timeoutMs, what: `${what} arrives` });
  }

  /** @param {(record: any) => boolean} matches @param {string} what @param {number} [timeoutMs] */
  async record(matches, what, timeoutMs = 20000) {
    try {
      return await eventually(() => this.records.find(matches), { timeoutMs, what: `${what} arrives` });
    } catch (error) {
      const seen = JSON.stringify(this.records.slice(-5));
      throw new Error(`${/** @type {Error} */ (error).message}; the last records: ${seen}`, { cause: error });
    }
  }

  async stop() {
    this.client?.end(true);
    await this.broker.stop();
  }
}

/** @param {any} properties */
const isHistory = (properties) => properties?.userProperties?.['seganet-history'] === '1';

/** @param {Buffer} payload an envelope @returns {any[]} */
const linesOf = (payload) =>
  payload
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

class World {
  /** Starts Node-RED and opens its editor. @param {Record<string, string>} env of the flows' variables */
  static async open(env) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-scenarios-'));
    linkPalette(folder);
    fs.writeFileSync(path.join(folder, 'flows.json'), JSON.stringify(EMPTY));
    const nodeRed = await NodeRed.start(folder, { env });
    const url = `http://${nodeRed.address}/`;
    const size = { width: 1600, height: 900 };
    const editor = await openEditor(url, { executablePath: browserPath(), ...size });
    return new World(folder, nodeRed, editor);
  }

  /** @param {string} folder @param {NodeRed} nodeRed @param {Awaited<ReturnType<typeof openEditor>>} editor */
  constructor(folder, nodeRed, editor) {
    this.folder = folder;
    this.nodeRed = nodeRed;
    this.editor = editor;
    /** @type {any[]} */
    this.flow = [];
    /** @type {(() => unknown)[]} */
    this.cleanups = [];
  }

  get page() {
    return this.editor.page;
  }

  /** Imports a scenario, and deploys it. @param {string} name */
  async import(name) {
    const file = path.join(root, 'examples', 'scenarios', `${name}.json`);
    this.flow = JSON.parse(fs.readFileSync(file, 'utf8'));
    await importExample(this.page, ['scenarios', name]);
    const wrong = (await nodesOf(this.page)).filter(({ valid }) => valid === false);
    if (wrong.length > 0) throw new Error(`the editor finds faults in ${JSON.stringify(wrong)}`);
    await this.deploy();
  }

  /** Presses Deploy, and waits until the flow runs. */
  async deploy() {
    this.nodeRed.shown.length = 0;
    this.nodeRed.statuses.clear();
    const starts = () => this.nodeRed.child.output.split('Started flows').length;
    const before = starts();
    await deploy(this.page);
    await this.nodeRed.child.until(() => starts() > before, 30000);
  }

  /**
   * Does what the note in the tab says: deletes the tab. Real brokers take its place.
   * @param {string[][]} listeners of each broker, such as '1884 127.0.0.1'
   */
  async realCloud(...listeners) {
    await deleteTab(this.page, 'Simulated cloud');
    await this.deploy();
    const clouds = [];
    for (const each of listeners.length > 0 ? listeners : [['1884 127.0.0.1']])
      clouds.push(await this.cloud(...each));
    return clouds;
  }

  /** @param {string[]} listeners */
  async cloud(...listeners) {
    const cloud = await Cloud.start(this.folder, listeners);
    this.cleanups.push(() => cloud.stop());
    return cloud;
  }

  /** @param {string} name of a node @returns {string} */
  id(name) {
    const found = this.flow.find((node) => node.name === name);
    if (!found) throw new Error(`the scenario has no node "${name}"`);
    return found.id;
  }

  /** Presses an inject node's button. @param {string} name */
  press(name) {
    return this.nodeRed.inject(this.id(name));
  }

  /** Waits for a node's status. @param {string} name @param {RegExp} text @param {number} [timeoutMs] */
  async status(name, text, timeoutMs = 20000) {
    const shown = () => this.nodeRed.statuses.get(this.id(name))?.text ?? '';
    try {
      return await eventually(() => text.test(shown()), { timeoutMs, what: `${text} below "${name}"` });
    } catch (error) {
      throw new Error(`${/** @type {Error} */ (error).message}; it is "${shown()}"`, { cause: error });
    }
  }

  /** Connects a device. @param {string} clientId @param {{ port?: number }} [options] */
  async device(clientId, { port = 1883 } = {}) {
    await waitForPort(port);
    const client = mqtt.connect({
      host: '127.0.0.1',
      port,
      clientId,
      protocolVersion: 5,
      reconnectPeriod: 200
    });
    client.on('error', () => {});
    this.cleanups.push(() => client.end(true));
    await eventually(() => client.connected, { timeoutMs: 20000, what: `${clientId} is connected` });
    return client;
  }

  /** Ends devices and clouds, and empties the editor. The runtime gets the next flow in its place. */
  async reset() {
    for (const cleanup of this.cleanups.splice(0).reverse()) await cleanup();
    for (const name of fs.readdirSync(this.folder).filter((each) => each.startsWith('cloud-'))) {
      fs.rmSync(path.join(this.folder, name), { recursive: true });
    }
    await this.page.evaluate((kept) => {
      const { RED } = /** @type {any} */ (window);
      const ids = (/** @type {string} */ each) => {
        /** @type {any[]} */
        const found = [];
        RED.nodes[each]((/** @type {any} */ node) => found.push(node));
        return found;
      };
      for (const tab of ids('eachWorkspace')) if (tab.id !== kept) RED.workspaces.delete(tab);
      for (const { id } of ids('eachConfig')) RED.nodes.remove(id);
    }, EMPTY[0].id);
  }

  async close() {
    for (const cleanup of this.cleanups.splice(0).reverse()) await cleanup();
    await this.editor.browser.close();
    await this.nodeRed.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { World };
