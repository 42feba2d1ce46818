'use strict';
// Sets many shadows over HTTP, ends the gateway in the middle by kill -9 and by a power cut, and checks that each
// version that was acknowledged is there. Then devices connect, and each must get its difference, and report it.

const fs = require('node:fs');
const http = require('node:http');
const mqtt = require('mqtt');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { draws } = require('../../fixtures/random');
const { Image } = require('../history/disks/image');

const CONCURRENCY = 400;
const IMAGE_BYTES = 1 << 30;
const PAGE = 1000;
const MAX_ERRORS = 1000;

/** @param {number} port */
function flowOf(port) {
  const at = { z: 'tab', x: 100, y: 100 };
  return [
    { id: 'tab', type: 'tab', label: 'shadow' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      engine: 'engine',
      port: String(port),
      acknowledgeMessages: 'delivered',
      wires: [['shadow']]
    },
    { ...at, id: 'shadow', type: 'seganet-shadow', engine: 'engine', maxShadows: '1000000', wires: [[], []] },
    // It carries nothing; the launcher reports it when the gateway is ready.
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...at, id: 'cloud', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] }
  ];
}

/** A state of about 200 bytes. @param {number} n */
const stateOf = (n) => ({
  n,
  interval: 60,
  limits: { low: 1.5, high: 8.25, unit: 'bar' },
  mode: 'automatic',
  schedule: ['06:00', '12:00', '18:00'],
  note: 'x'.repeat(80)
});

/**
 * @typedef {object} Options
 * @property {number} shadows
 * @property {number} devices that connect in the end
 * @property {number} perS of these
 * @property {boolean} cut a power cut, too; needs root
 * @property {ReturnType<typeof import('../../fixtures/random').seeded>} random
 * @property {(line: string) => void} [log]
 */

class Scenario {
  /** Device → n that was acknowledged last. @type {Map<string, number>} */
  acknowledged = new Map();
  lost = 0;
  errors = 0;
  isEnding = false;
  isDown = false;
  agent = new http.Agent({ keepAlive: true, maxSockets: CONCURRENCY });

  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.log = options.log ?? (() => {});
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadows-'));
    this.image = options.cut ? new Image(this.folder, IMAGE_BYTES) : null;
    this.home = path.join(this.image?.root ?? this.folder, 'home');
    fs.mkdirSync(this.home, { mode: 0o700 });
  }

  async start() {
    this.port ??= await freePort();
    this.gateway = await startFlow(flowOf(this.port), this.home);
    await waitForPort(this.port);
  }

  /**
   * @param {string} method
   * @param {string} url
   * @param {object} [body]
   * @returns {Promise<{ status: number, body: any }>}
   */
  ask(method, url, body) {
    const text = body ? JSON.stringify(body) : '';
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          port: this.gateway?.adminPort,
          path: `/seganet/${url}`,
          method,
          agent: this.agent,
          headers: body
            ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
            : {}
        },
        (response) => {
          let got = '';
          response.setEncoding('utf8');
          response.on('data', (part) => (got += part));
          response.on('error', reject);
          response.on('aborted', () => reject(new Error('aborted')));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: url === 'metrics' ? got : JSON.parse(got) })
          );
        }
      );
      request.on('error', reject);
      request.end(text);
    });
  }

  /**
   * Sets the shadows of these numbers, until the gateway is ended.
   * @param {number[]} numbers
   * @param {number} n
   * @returns {Promise<number>} a second
   */
  async set(numbers, n) {
    const left = [...numbers];
    this.isDown = false;
    const begun = performance.now();
    let done = 0;
    const work = async () => {
      while (left.length > 0 && !this.isDown) {
        const number = /** @type {number} */ (left.pop());
        const device = `dev-${number}`;
        try {
          const { status } = await this.ask('POST', 'shadow', { device, desired: stateOf(n) });
          if (status === 200 && !this.isDown) this.acknowledged.set(device, n);
          if (status === 200) done++;
          else throw new Error(`status ${status}`);
        } catch (error) {
          // A server may close a connection that was idle just when a request comes.
          if (this.isEnding) continue;
          if (++this.errors > MAX_ERRORS) throw error;
          left.push(number);
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return done / ((performance.now() - begun) / 1000);
  }

  /** @param {'kill' | 'cut'} how */
  async end(how) {
    const { gateway, image } = this;
    if (!gateway) return;
    this.isEnding = true;
    if (how === 'cut' && image) {
      // Everything stops at this moment; only what has reached the disk counts.
      const { pid } = gateway.child;
      process.kill(/** @type {number} */ (pid), 'SIGSTOP');
      // What was answered before counts.
      await delay(200);
      this.isDown = true;
      image.copy();
    }
    await gateway.end('SIGKILL');
    this.isDown = true;
    if (how === 'cut') image?.cut();
    await this.start();
    this.isEnding = false;
  }

  /** Counts acknowledged shadows that are not there. @returns {Promise<Map<string, any>>} all by device */
  async check() {
    const found = new Map();
    for (let after = ''; ;) {
      const { body } = await this.ask('GET', `shadow?limit=${PAGE}${after && `&after=${after}`}`);
      for (const row of body.shadows) found.set(row.device, row);
      if (!body.next) break;
      after = body.next;
    }
    // Each update has changed n, so there are as many versions.
    for (const [device, n] of this.acknowledged) {
      const row = found.get(device);
      if (!row || row.state === 'damaged' || row.version < n) this.lost++;
    }
    return found;
  }

  /**
   * @param {string} id
   * @returns {Promise<{ client: mqtt.MqttClient, ms: number, fromConnackMs: number, n: number }>}
   */
  device(id) {
    const begun = performance.now();
    const client = mqtt.connect(`mqtt://127.0.0.1:${this.port}`, { clientId: id, reconnectPeriod: 0 });
    let connectedAt = begun;
    client.on('connect', () => {
      connectedAt = performance.now();
      client.subscribe(`cmd/${id}/shadow/#`, { qos: 1 }, () => {});
    });
    return new Promise((resolve, reject) => {
      client.on('error', reject);
      client.on('message', (_topic, payload) => {
        const now = performance.now();
        const { state } = JSON.parse(payload.toString());
        resolve({ client, ms: now - begun, fromConnackMs: now - connectedAt, n: state.n });
      });
    });
  }

  async close() {
    this.agent.destroy();
    await this.gateway?.end('SIGTERM');
    this.image?.close();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  rssMiB() {
    const status = fs.readFileSync(`/proc/${this.gateway?.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }

  /** @param {string} name */
  async metric(name) {
    const { body } = await this.ask('GET', 'metrics');
    return Number(new RegExp(`^seganet_shadow_${name}\\{.*\\} (\\S+)$`, 'm').exec(body)?.[1]);
  }
}

/** @param {number[]} sorted @param {number} part */
const quantile = (sorted, part) =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] * 10) / 10;

/** @param {Options} options */
async function runShadows(options) {
  const { shadows, devices, perS, cut, random, log = () => {} } = options;
  const run = new Scenario(options);
  const numbers = Array.from({ length: shadows }, (_, i) => i);
  try {
    await run.start();
    const emptyMiB = run.rssMiB();
    const rates = [await run.set(numbers, 1)];
    log(`${run.acknowledged.size} shadows, ${Math.round(rates[0])} a second`);
    await eventually(async () => (await run.metric('shadows')) >= run.acknowledged.size, {
      what: 'the metrics'
    });
    const [bytes, fullMiB] = [await run.metric('bytes'), run.rssMiB()];
    const ends = /** @type {('kill' | 'cut')[]} */ (cut ? ['kill', 'cut'] : ['kill']);
    for (const [i, how] of ends.entries()) {
      const setting = run.set(numbers, i + 2);
      const before = run.acknowledged.size;
      // Somewhere in the middle.
      await delay((shadows / rates[0]) * 1000 * (0.2 + 0.6 * random.next()));
      await Promise.all([run.end(how), setting]);
      await run.check();
      const after = [...run.acknowledged.values()].filter((n) => n === i + 2).length;
      log(`${how} after ${after} of ${before} had version ${i + 2}; lost: ${run.lost}`);
    }
    const times = [];
    const fromConnack = [];
    const wrong = [];
    const connect = async (/** @type {string} */ device) => {
      const got = await run.device(device);
      fromConnack.push(got.fromConnackMs);
      if (got.n < (run.acknowledged.get(device) ?? 0)) wrong.push(device);
      // Reports what is desired, which ends the difference. The acknowledgement says that it is on disk.
      await got.client.publishAsync('shadow/reported', JSON.stringify(stateOf(got.n)), { qos: 1 });
      const { body } = await run.ask('GET', `shadow?device=${device}`);
      if (body.delta) wrong.push(device);
      await got.client.endAsync(true);
      return got.ms;
    };
    for (const number of draws(random).shuffled(numbers).slice(0, devices)) {
      times.push(connect(`dev-${number}`));
      await delay(1000 / perS);
    }
    const sorted = (await Promise.all(times)).sort((a, b) => a - b);
    fromConnack.sort((a, b) => a - b);
    return {
      shadows: run.acknowledged.size,
      lost: run.lost,
      perS: Math.round(rates[0]),
      bytesEach: Math.round(bytes / run.acknowledged.size),
      memoryEach: Math.round(((fullMiB - emptyMiB) * 1048576) / run.acknowledged.size),
      devices: sorted.length,
      wrong: wrong.length,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      connackP50: quantile(fromConnack, 0.5),
      connackP99: quantile(fromConnack, 0.99)
    };
  } finally {
    await run.close();
  }
}

module.exports = { Scenario, quantile, runShadows, stateOf };
