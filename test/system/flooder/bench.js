'use strict';
// The target of the flood: a real cloud, a real gateway with every kind of listener, and its metrics.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { readGroup } = require('../../../bench/harness/proc');
const { startCloud } = require('../../../bench/harness/cloud');
const { parseEnvelope } = require('../../fixtures/devices/device');
const { homeWith } = require('../../fixtures/gateway/flow-home');
const { startGateway } = require('../../../bench/harness/gateway');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');
const mqtt = require('mqtt');

const HASH = `$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const SCRAPE_MS = 30000;

/** @param {Record<string, number>} ports @param {string} passwordFile */
function nodesFor(ports, passwordFile) {
  const devices = { type: 'seganet-mqtt-devices', version: 2, host: '127.0.0.1' };
  return [
    { id: 'coap', type: 'seganet-coap-devices', port: String(ports.coap), transport: 'udp' },
    { id: 'http', type: 'seganet-http-devices', port: String(ports.http), rate: '0' },
    { ...devices, id: 'ws', transport: 'ws', port: String(ports.ws) },
    { ...devices, id: 'passwords', login: 'passwords', passwordFile, port: String(ports.passwords) },
    { ...devices, id: 'asks', login: 'flow', port: String(ports.login) },
    { id: 'login', type: 'seganet-login', timeoutMs: '5000', wires: [['refuse']] },
    {
      id: 'refuse',
      type: 'function',
      func: 'msg.allowed = false; return msg;',
      outputs: 1,
      wires: [['login']]
    }
  ];
}

class Bench {
  #folder;
  #flow;
  #receiver;

  async start() {
    this.cloud = await startCloud();
    const names = ['mqtt', 'coap', 'http', 'ws', 'passwords', 'login', 'editor'];
    /** @type {Record<string, number>} */
    this.ports = {};
    for (const name of names) this.ports[name] = await freePort();
    this.#folder = fs.mkdtempSync(path.join(require('node:os').tmpdir(), 'seganet-flood-'));
    const passwordFile = path.join(this.#folder, 'passwords');
    fs.writeFileSync(passwordFile, `nobody:${HASH}\n`, { mode: 0o600 });
    this.#flow = homeWith(nodesFor(this.ports, passwordFile));
    this.gateway = await startGateway(this.cloud, {
      openFiles: 20000,
      env: {
        SEGANET_HOME: this.#flow.home,
        SEGANET_EDITOR_PORT: String(this.ports.editor),
        SEGANET_WORKERS: '2'
      }
    });
    this.ports.mqtt = this.gateway.port;
    for (const name of ['http', 'ws', 'passwords', 'login', 'editor']) await waitForPort(this.ports[name]);
    await this.#receive();
  }

  async #receive() {
    /** Numbers of records that arrived, by honest device. @type {Map<string, Set<number>>} */
    this.arrived = new Map();
    const { plainPort } = /** @type {import('../../../bench/harness/cloud').Cloud} */ (this.cloud);
    this.#receiver = await mqtt.connectAsync(`mqtt://127.0.0.1:${plainPort}`, {
      clientId: `receiver-${process.pid}`
    });
    this.#receiver.on('message', (_topic, payload) => {
      // Most of it comes from hostile devices, and is ignored.
      if (!payload.includes('"d":"honest-')) return;
      for (const { d, p } of parseEnvelope(payload)) {
        if (!d.startsWith('honest-')) continue;
        if (!this.arrived?.has(d)) this.arrived?.set(d, new Set());
        this.arrived?.get(d)?.add(p.n);
      }
    });
    await this.#receiver.subscribeAsync('gw/#', { qos: 0 });
  }

  get alive() {
    return Boolean(this.gateway?.alive);
  }

  get rssMiB() {
    return readGroup(/** @type {any} */ (this.gateway).child.pid).rssBytes / 2 ** 20;
  }

  /** Reads the metrics from Node-RED's main thread. @returns {Promise<{ ms: number, text: string }>} */
  scrape() {
    const at = performance.now();
    return new Promise((resolve, reject) => {
      const url = `http://127.0.0.1:${this.ports?.editor}/seganet/metrics`;
      const request = http.get(url, { timeout: SCRAPE_MS, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (more) => (text += more));
        response.on('end', () => resolve({ ms: performance.now() - at, text }));
      });
      request.on('timeout', () => request.destroy(new Error(`no metrics in ${SCRAPE_MS} ms`)));
      request.on('error', reject);
    });
  }

  /** The input, and its outcome. */
  async counts() {
    const families = parseMetrics((await this.scrape()).text);
    const total = (/** @type {string} */ name) =>
      (families.get(`seganet_${name}`)?.samples ?? []).reduce((sum, { value }) => sum + value, 0);
    return {
      received: total('records_received_total'),
      delivered: total('records_delivered_total'),
      held: total('records_in_memory') + total('records_on_disk') + total('records_backlog'),
      dropped: total('records_dropped_total'),
      eventsLost: total('events_lost_total'),
      halfOpenEvicted: total('half_open_evicted_total')
    };
  }

  async close() {
    await this.#receiver?.endAsync(true);
    const exit = this.gateway?.alive ? await this.gateway.stop(30000) : this.gateway?.child.exit;
    await this.cloud?.close();
    this.#flow?.remove();
    if (this.#folder) fs.rmSync(this.#folder, { recursive: true, force: true });
    return exit;
  }
}

exports.Bench = Bench;
