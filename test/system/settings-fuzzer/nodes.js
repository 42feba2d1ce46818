'use strict';
// Odd properties of nodes, many instances in one running gateway, by its admin API.

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { Aedes } = require('aedes');
const mqtt = require('mqtt');
const WebSocket = require('ws');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { accepts, eventually } = require('../../../bench/harness/net');
const { shortReasons } = require('../../../nodes/lib/base/texts/short-reasons');
const { faultsOf } = require('./judge');
const { brief, oddValue, oddVariable, pick } = require('./values');

/** @typedef {import('./values').Random} Random */
/** @typedef {import('./node-types').NodeType} NodeType */
/** @typedef {{ id: string, type: string, changed: string[] } & Record<string, any>} Instance changed: properties with odd values */

const SETTLE_MS = 20000;
/** They show nothing while they work. */
const SILENT = ['seganet-stats'];
/** External conditions: shown on the canvas and by the launcher, not by a line of the node. */
const OUTSIDE =
  /^(?:[\d–, ]+: )?(disconnected|reconnecting|connecting|refused|waiting|bluetooth|no adapter|\d+ of \d+ fail)/i;
/** The launcher's lines about them: "uplink: disconnected: Nothing listens at …". */
const LAUNCHER_LINE = /^[\w ]+: (?:disconnected|refused|stalled): ./m;
/** Their messages are not records. */
const NO_RECORDS = [
  'seganet-stats',
  'seganet-login',
  'seganet-command',
  'seganet-demand',
  'seganet-shadow',
  'seganet-ocf-request',
  'seganet-series',
  'seganet-find',
  'seganet-unbatch'
];
/** They come from the engine or broker that the node names, which has reported the reason. */
const OF_ANOTHER = /^(engine not|wrong setting|made by a newer version|broker: |cluster: |no cluster)/;

/** The nodes that each odd node depends on, and a path for a record that must always work. */
const BASE = [
  { id: 'tab', type: 'tab', label: 'fuzzer' },
  { id: 'e0', type: 'seganet-engine', name: 'engine', workers: '1', acknowledge: 'safe' },
  {
    id: 'b0',
    type: 'seganet-uplink-broker',
    name: 'broker',
    url: '${SEGANET_UPLINK_URL}',
    protocolVersion: '4'
  },
  { id: 'k0', type: 'seganet-kafka', name: 'cluster', brokers: '127.0.0.1:1', security: 'plaintext' },
  {
    id: 'canary',
    type: 'seganet-mqtt-devices',
    z: 'tab',
    name: 'canary',
    engine: 'e0',
    port: '0',
    version: 2,
    x: 1,
    y: 1,
    wires: [['u0']]
  },
  {
    id: 'u0',
    type: 'seganet-uplink',
    z: 'tab',
    name: 'u0',
    engine: 'e0',
    broker: 'b0',
    x: 1,
    y: 1,
    wires: []
  }
];

/**
 * @param {Random} random @param {NodeType[]} types @param {string} number of the node, new in each round
 * @returns {any[]} the node, and one that uses it when it is a configuration
 */
function drawNode(random, types, number) {
  const { type, isConfig, outputs, defaults } = pick(random, types);
  const names = Object.keys(defaults).filter((name) => name !== 'name');
  const count = random.integer(3) === 0 ? 2 + random.integer(3) : 1;
  const changed = Array.from({ length: count }, () => pick(random, names));
  const id = `f${number}`;
  const values = Object.fromEntries(Object.entries(defaults).map(([name, { value }]) => [name, value]));
  const around = {
    ...('engine' in defaults && { engine: 'e0' }),
    ...('broker' in defaults && { broker: 'b0' }),
    ...('cluster' in defaults && { cluster: 'k0' }),
    ...('port' in defaults && { port: '0' }),
    ...(type === 'seganet-uplink-broker' && { url: 'mqtt://127.0.0.1:1' }),
    ...(type === 'seganet-kafka' && { brokers: '127.0.0.1:1' }),
    ...(type === 'seganet-mqtt-source' && { url: 'mqtt://127.0.0.1:1', topics: 'a/#' })
  };
  // Node-RED itself looks nodes up by such an id, which is text.
  const value = (/** @type {string} */ name) =>
    defaults[name].type ? oddVariable(random) : oddValue(random);
  const odd = Object.fromEntries(changed.map((name) => [name, value(name)]));
  const place = isConfig
    ? {}
    : {
        z: 'tab',
        x: 1,
        y: 1,
        wires: Array.from({ length: outputs }, () => (NO_RECORDS.includes(type) ? [] : ['u0']))
      };
  const node = { ...values, ...around, ...odd, id, type, name: nameOf(id), ...place };
  const user = { z: 'tab', id: `${id}u`, name: nameOf(`${id}u`), x: 1, y: 1 };
  const users = {
    'seganet-engine': {
      ...user,
      type: 'seganet-ingest',
      engine: id,
      deviceId: 'x',
      deviceIdType: 'str',
      wires: [[]]
    },
    'seganet-uplink-broker': { ...user, type: 'seganet-uplink', engine: 'e0', broker: id, wires: [] },
    'seganet-kafka': { ...user, type: 'seganet-kafka-uplink', engine: 'e0', cluster: id, wires: [] }
  };
  const uses = users[/** @type {keyof typeof users} */ (type)];
  return uses
    ? [
        { ...node, changed },
        { ...uses, changed: [], of: id }
      ]
    : [{ ...node, changed }];
}

/** A broker that takes everything: a deploy's remaining records leave at once. */
class Cloud {
  async start() {
    this.broker = await Aedes.createBroker();
    this.server = net.createServer(this.broker.handle);
    await new Promise((resolve) => this.server?.listen(0, '127.0.0.1', () => resolve(null)));
    return /** @type {net.AddressInfo} */ (this.server.address()).port;
  }

  async stop() {
    await new Promise((resolve) => (this.broker ? this.broker.close(() => resolve(null)) : resolve(null)));
    this.server?.close();
  }
}

class Bench {
  #cloud;

  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    /** @type {Map<string, { fill?: string, text?: string }>} */
    this.statuses = new Map();
    this.#cloud = new Cloud();
  }

  async start() {
    this.home = fs.mkdtempSync(path.join(this.folder, 'home-'));
    fs.writeFileSync(path.join(this.home, 'gateway.json'), JSON.stringify(BASE));
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    this.child = new Child(process.execPath, [path.join(root, 'flows', 'launcher', 'start.js')], {
      name: 'gateway',
      // Folders of odd names are made below it.
      cwd: this.home,
      env: {
        ...Object.fromEntries(clean),
        SEGANET_HOME: this.home,
        SEGANET_EDITOR_PORT: '0',
        SEGANET_UPLINK_URL: `mqtt://127.0.0.1:${await this.#cloud.start()}`
      }
    });
    const found = await this.child.until((output) => /editor: (http:\S+)/.exec(output), 60000);
    this.url = found[1];
    this.comms = new WebSocket(`${this.url.replace('http', 'ws')}comms`);
    this.comms.on('message', (data) => {
      for (const { topic = '', data: status } of [JSON.parse(String(data))].flat()) {
        if (topic.startsWith('status/')) this.statuses.set(topic.slice(7), status ?? {});
      }
    });
    await new Promise((resolve, reject) => this.comms?.once('open', resolve).once('error', reject));
    this.comms.send(JSON.stringify({ subscribe: 'status/#' }));
  }

  /**
   * Deploys the nodes beside the base, and waits until each shows its result.
   * @param {any[]} nodes @param {string} type of the deploy
   * @returns {Promise<string[]>} findings
   */
  async round(nodes, type) {
    const child = /** @type {Child} */ (this.child);
    // It is kept to a limit: positions in it are not stable.
    child.output = '';
    this.statuses.clear();
    const flows = [...BASE, ...nodes.map(({ changed, of, ...node }) => (void [changed, of], node))];
    const response = await fetch(`${this.url}flows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
      body: JSON.stringify(flows)
    }).catch((error) => ({ status: 0, text: async () => String(error.cause ?? error) }));
    /** @type {string[]} */
    const findings = [];
    if (response.status !== 204) findings.push(`the deploy got ${response.status}: ${await response.text()}`);
    const visible = nodes.filter(({ z, type: of }) => z && !SILENT.includes(of));
    const silent = () => visible.filter(({ id }) => !isSettled(this.statuses.get(id)));
    await eventually(() => child.exit || silent().length === 0, { timeoutMs: SETTLE_MS }).catch(() => {});
    if (child.exit)
      return [...findings, `the gateway ended: ${JSON.stringify(child.exit)} ${child.output.slice(-2000)}`];
    const { output } = child;
    for (const node of silent()) {
      findings.push(`${tell(node)} shows ${brief(this.statuses.get(node.id))} after ${SETTLE_MS} ms`);
    }
    for (const node of nodes) findings.push(...(await this.#judge(node)));
    findings.push(...faultsOf(output, JSON.stringify(nodes)));
    findings.push(...(await this.#canary()));
    return findings;
  }

  /** @param {any} node */
  async #judge(node) {
    const { fill, text = '' } = this.statuses.get(node.id) ?? {};
    const isSilent = fill === 'red' && !OUTSIDE.test(text) && !(await this.#isExplained(node, text));
    if (isSilent) return [`${tell(node)} is red (${text}) and the log gives no reason`];
    const { output } = /** @type {Child} */ (this.child);
    const lines = output.split('\n').filter((line) => line.includes(`:${nameOf(node.id)}]`));
    const problem = lines.find((line) => line.length > 1500);
    if (problem) return [`${tell(node)} prints a line of ${problem.length} characters`];
    const [, port] = /^(\d+) ·/.exec(text) ?? [];
    const transport =
      String(node.transport ?? '').trim() || (node.type === 'seganet-coap-devices' ? 'udp' : 'tcp');
    // A number is an IPv4 address, too: 2147483647 is 127.255.255.255, a broadcast address that takes no connections.
    const isNumber = /^\d+$/.test(String(node.host));
    const isTcp = transport !== 'udp' && !isNumber && fill === 'green' && port;
    if (isTcp && !(await accepts(Number(port), reachableAt(node.host))))
      return [`${tell(node)} is green, and port ${port} is closed`];
    return [];
  }

  /**
   * @param {any} node
   * @param {string} text of its status
   * @returns {Promise<boolean>} true: the log has the reason, by the node, by the one that it depends on, or by the
   *   launcher
   */
  #isExplained(node, text) {
    const isOther = OF_ANOTHER.test(text) && node.of;
    const isShort = shortReasons().includes(text.split(' · ')[0]);
    const isThere = () => {
      const output = this.child?.output ?? '';
      const isSaid = (/** @type {string} */ id) => output.includes(`:${nameOf(id)}]`);
      return isSaid(node.id) || (isOther && isSaid(node.of)) || (isShort && LAUNCHER_LINE.test(output));
    };
    // The line may come after the status.
    return eventually(isThere, { timeoutMs: 5000 }).then(
      () => true,
      () => false
    );
  }

  /** A record of a device must always be acknowledged: flows run, and the engine of the base lives. */
  async #canary() {
    const state = await fetch(`${this.url}flows/state`).then(
      (answer) => answer.json(),
      () => ({})
    );
    if (state.state !== 'start') return [`the flows are not started: ${JSON.stringify(state)}`];
    try {
      const port = await eventually(() => /^(\d+) ·/.exec(this.statuses.get('canary')?.text ?? '')?.[1], {
        timeoutMs: 15000,
        what: 'the listener of the canary'
      });
      const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
        clientId: 'canary',
        reconnectPeriod: 0
      });
      const late = new Promise((resolve) => setTimeout(resolve, 15000, 'late').unref());
      const end = await Promise.race([device.publishAsync('d/canary/t', '1', { qos: 1 }), late]);
      await device.endAsync(true);
      return end === 'late' ? ['a record of the canary was not acknowledged within 15 s'] : [];
    } catch (error) {
      const shown = brief(this.statuses.get('canary'));
      return [`the canary could not publish: ${/** @type {Error} */ (error).message} (${shown})`];
    }
  }

  async stop() {
    this.comms?.terminate();
    const exit = await this.child?.stop('SIGTERM', 40000);
    await this.#cloud.stop();
    if (this.home) fs.rmSync(this.home, { recursive: true, force: true });
    return exit;
  }
}

/**
 * Not the id itself: Node-RED takes each value that is the id of a configuration node for a reference to it.
 * @param {string} id
 */
const nameOf = (id) => `odd ${id}`;

/** @param {{ fill?: string, text?: string } | undefined} status */
const isSettled = (status) =>
  Boolean(status?.fill) && !(status?.fill === 'yellow' && status.text === 'opening');

/** @param {any} node */
function tell({ type, changed, ...node }) {
  return `${type} ${changed.map((/** @type {string} */ name) => `${name}=${brief(node[name])}`).join(' ')}`;
}

/** @param {unknown} host that a node listens on @returns {string} where it can be reached */
const reachableAt = (host) =>
  typeof host === 'string' && net.isIP(host) && !/^(0\.0\.0\.0|::)$/.test(host) ? host : '127.0.0.1';

module.exports = { Bench, drawNode, tell };
