'use strict';
// One run over a real link: devices → system → link → cloud's broker → receiver. Counts the bytes of the interface.

const fs = require('node:fs');
const path = require('node:path');
const { startCloud } = require('../harness/cloud');
const { Child } = require('../harness/child');
const { run } = require('../harness/netns');
const { readCpu } = require('../harness/proc');
const { shape } = require('../harness/qdisc');
const { standAside } = require('../harness/stand-aside');
const { systems } = require('../options/systems');

/** @typedef {import('../harness/netns').LinkedNetworks} LinkedNetworks */

const ETHERNET_BYTES = 14;
const OPEN_FILES = 4096;
const START_MS = 60000;
/** A counter of the receiver that is older than this is not taken. */
const FRESH_MS = 250;

/** Batches that wait for records, up to 100 ms. */
const PATIENT = {
  'seganet-batch.flush': 'limits',
  'seganet-batch.minDevices': '0',
  'seganet-batch.maxBytes': '65536',
  'seganet-batch.maxDelayMs': '100'
};

/** Batches that wait to save bytes; the records have class 3, and so a patience of 1 s. */
const SAVING = { SEGANET_COMPRESS: 'auto' };

/**
 * How records reach the cloud. `adapter`: of bench/systems; '' = one MQTT connection of the devices' process itself.
 * @type {Record<string, { adapter: string, env?: Record<string, string>, times: number }>} times: the load offered to a
 *   full link, in multiples of what it carries without batches
 */
const WAYS = {
  unbatched: { adapter: '', times: 2 },
  bridge: { adapter: 'mosquitto-bridge', times: 2 },
  NDJSON: { adapter: 'seganet', times: 4 },
  zstd: { adapter: 'seganet', env: { SEGANET_COMPRESS: 'zstd' }, times: 16 },
  'zstd-100ms': { adapter: 'seganet', env: { SEGANET_COMPRESS: 'zstd', ...PATIENT }, times: 16 },
  balanced: { adapter: 'seganet', env: { ...SAVING, SEGANET_BATCH_SEALED_BY: 'balanced' }, times: 16 },
  thrifty: { adapter: 'seganet', env: { ...SAVING, SEGANET_BATCH_SEALED_BY: 'thrifty' }, times: 16 }
};

/**
 * @typedef {object} LinkCase
 * @property {string} way of WAYS
 * @property {string} shape of the records
 * @property {number} link bit/s towards the cloud, 0 = open
 * @property {{ rate: number, warmup: number, seconds: number }[]} phases in this order
 * @property {Record<string, string>} env of the gateway
 * @property {string | undefined} gatewayCpus
 * @property {string | undefined} harnessCpus
 *
 * @typedef {object} Figures of a phase
 * @property {number} rate offered records a second
 * @property {number} perSecond delivered records a second
 * @property {number} recordsPerMessage
 * @property {number} ipBytes a record, both directions
 * @property {number} cpuMicros a record, of all processes of the system; NaN = it has none
 * @property {number} used fraction of the link, towards the cloud; NaN = open
 */

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Returns the IP bytes that an interface has sent and received. @param {string} dev */
function readInterface(dev) {
  const read = (/** @type {string} */ name) =>
    Number(fs.readFileSync(`/sys/class/net/${dev}/statistics/${name}`, 'utf8'));
  const bytes = (/** @type {string} */ way) => read(`${way}_bytes`) - read(`${way}_packets`) * ETHERNET_BYTES;
  return { up: bytes('tx'), down: bytes('rx') };
}

/** Each packet counts with its own headers: neither end makes large ones that the card would cut. */
function forbidLargePackets(/** @type {LinkedNetworks} */ network) {
  const [nsenter, ...enter] = network.inCloud;
  run('ip', ['link', 'set', 'dev', network.interface, 'gso_max_segs', '1']);
  run(nsenter, [...enter, 'ip', 'link', 'set', 'dev', 'down0', 'gso_max_segs', '1']);
}

class LinkRun {
  /** @param {LinkedNetworks} network @param {LinkCase} settings */
  constructor(network, settings) {
    this.network = network;
    this.settings = settings;
    this.way = WAYS[settings.way];
    this.comeBack = () => {};
    /** @type {Child[]} */
    this.tools = [];
  }

  /** @returns {Promise<Figures[]>} one for each phase */
  async run() {
    const { network, settings, way } = this;
    const { link, phases, gatewayCpus, harnessCpus } = settings;
    this.comeBack = standAside(harnessCpus);
    shape(network.interface, link > 0 ? 'tbf-pfifo_fast' : 'none', link);
    forbidLargePackets(network);
    this.cloud = await startCloud({ cpus: harnessCpus, host: network.there, within: network.inCloud });
    const { cloud } = this;
    this.receiver = this.#tool('receiver.js', [String(cloud.plainPort)], network.inCloud);
    await this.receiver.until((output) => output.includes('"ready"'));
    if (way.adapter) {
      this.system = await systems[way.adapter]({
        cloud,
        cpus: gatewayCpus,
        openFiles: OPEN_FILES,
        datatype: 'buffer',
        gatewayEnv: { ...settings.env, ...way.env }
      });
    }
    const plan = phases.map(({ rate, warmup, seconds }) => ({ rate, seconds: warmup + seconds }));
    const to = this.system ? [] : [network.there, cloud.files.ca];
    const port = String(this.system ? this.system.port : cloud.tlsPort);
    const devices = this.#tool('devices.js', [settings.shape, port, JSON.stringify(plan), ...to]);
    const found = [];
    for (const [i, phase] of phases.entries()) {
      const start = await devices.until(
        () => devices.jsonLines().find((line) => line.event === 'phase' && line.phase === i),
        START_MS
      );
      await sleep(start.ms + phase.warmup * 1000 - Date.now());
      const before = await this.#read();
      await sleep(start.ms + (phase.warmup + phase.seconds) * 1000 - Date.now());
      found.push(this.#figures(phase.rate, before, await this.#read()));
    }
    return found;
  }

  /** @param {string} file @param {string[]} args @param {string[]} [within] */
  #tool(file, args, within) {
    const child = new Child(process.execPath, [path.join(__dirname, file), ...args], {
      name: file,
      cpus: this.settings.harnessCpus,
      openFiles: OPEN_FILES,
      within
    });
    this.tools.push(child);
    return child;
  }

  async #read() {
    const receiver = /** @type {Child} */ (this.receiver);
    const now = Date.now();
    const { ms, records, messages } = await receiver.until(() =>
      receiver.jsonLines().findLast((line) => line.event === 'count' && line.ms >= now - FRESH_MS)
    );
    const children = this.system?.children ?? [];
    const cpu = children.reduce((sum, { pid }) => sum + readCpu(pid), 0);
    return { ms, records, messages, cpu, at: Date.now(), ...readInterface(this.network.interface) };
  }

  /**
   * @param {number} rate
   * @param {Awaited<ReturnType<LinkRun['#read']>>} before
   * @param {Awaited<ReturnType<LinkRun['#read']>>} after
   * @returns {Figures}
   */
  #figures(rate, before, after) {
    // The receiver counts at other times than the interface, so both become rates first.
    const counted = (after.ms - before.ms) / 1000;
    const seconds = (after.at - before.at) / 1000;
    const perSecond = (after.records - before.records) / counted;
    const up = (after.up - before.up) / seconds;
    const down = (after.down - before.down) / seconds;
    const { link } = this.settings;
    return {
      rate,
      perSecond,
      recordsPerMessage: (after.records - before.records) / (after.messages - before.messages),
      ipBytes: (up + down) / perSecond,
      cpuMicros: this.system ? ((after.cpu - before.cpu) / seconds / perSecond) * 1e6 : NaN,
      used: link > 0 ? (up * 8) / link : NaN
    };
  }

  async close() {
    this.comeBack();
    for (const tool of this.tools) await tool.stop();
    if (this.system) await this.system.close();
    if (this.cloud) await this.cloud.close();
  }
}

module.exports = { LinkRun, WAYS, forbidLargePackets, readInterface };
