'use strict';
// A region at work: its part of the presence topic, and its links.

const { Complaints } = require('../../base/complaints');
const { asError, guard } = require('../../base/guard');
const { Links } = require('./links/links');
const { CompactedThread } = require('../../kafka/compacted/compacted-thread');
const { MARKER } = require('./presence-record');
const { Regions } = require('./regions');

/** @typedef {import('../../kafka/compacted/compacted-thread').ThreadHooks} ThreadHooks */
/**
 * @typedef {object} Log
 * @property {() => void} start
 * @property {(records: import('./regions').Published[]) => void} publish
 * @property {() => Promise<void>} stop
 * @property {string} state
 * @property {string} reason
 * @property {number} waiting
 */
/**
 * @typedef {object} RegionSettings
 * @property {string} own address of this region
 * @property {{ host: string, port: number }} listen
 * @property {import('./links/links').LinksParts['place']} [place] see LinksParts
 * @property {import('../../settings/overlay-offer').OfferPlace} [offer] offers the open port to an overlay
 * @property {InstanceType<typeof import('./links/peers').LinkSecrets>} secrets
 * @property {readonly string[]} names of certificates, see isPeer()
 * @property {(hooks: ThreadHooks) => Log} openLog
 * @property {number} [mostDevices]
 * @property {number} [unknownMs]
 * @property {import('./links/links').LinksParts['limits']} [limits]
 */

const LISTEN_RETRY_MS = 1000;

class RunningRegion {
  #settings;
  #cloud;
  #regions;
  #links;
  #log;
  #tell;
  #isClosed = false;
  /** @type {NodeJS.Timeout | undefined} */
  #retry;
  /** Withdraws the port from the overlay. @type {(() => Promise<void>) | undefined} */
  #withdraw;
  /** Why the port is not open, '' = it is. */
  #portTrouble = '';

  /**
   * @param {RegionSettings} settings
   * @param {import('./regions').Cloud} cloud
   * @param {(sentence: string) => void} report
   */
  constructor(settings, cloud, report) {
    const { own, listen, place, secrets, names, openLog, mostDevices, unknownMs, limits } = settings;
    const complaints = new Complaints(report);
    const tell = (/** @type {string} */ sentence) => complaints.tell(sentence, sentence);
    const safely = (/** @type {() => void} */ work) => guard(work, (error) => cloud.problem(error));
    this.#settings = settings;
    this.#tell = tell;
    this.#cloud = cloud;
    const regions = new Regions({
      own,
      cloud,
      publish: (records) => this.#log.publish(records),
      mostDevices,
      unknownMs
    });
    this.#regions = regions;
    this.#links = new Links({
      own,
      listen,
      place,
      secrets,
      names,
      limits,
      sid: () => cloud.options.sid,
      now: () => cloud.now(),
      asked: (incoming) => safely(() => regions.serve(incoming)),
      up: (ci) => safely(() => regions.up(ci)),
      down: (ci) => safely(() => regions.down(ci)),
      report: tell
    });
    regions.use(this.#links);
    this.#log = openLog({
      records: (records, isCaughtUp) => safely(() => regions.take(records, isCaughtUp)),
      caughtUp: () => safely(() => regions.ready()),
      restarted: () => safely(() => regions.repeat()),
      report: tell
    });
  }

  /** Opens the port, and again until it succeeds: until then, only this gateway connects to others. */
  open() {
    this.#cloud.elsewhere = this.#regions;
    this.#log.start();
    void this.#listen();
  }

  async #listen() {
    try {
      const port = await this.#links.listen();
      this.#portTrouble = '';
      const { host } = this.#settings.listen;
      if (!this.#isClosed) this.#withdraw = this.#settings.offer?.({ host, port, network: 'tcp' });
    } catch (error) {
      const { code, message } = asError(error);
      const { host, port } = this.#settings.listen;
      this.#portTrouble = code ?? 'wrong certificate';
      this.#tell(
        code
          ? `The port ${host}:${port} for other regions cannot be opened (${code}). Trying again.`
          : message
      );
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.#listen(), LISTEN_RETRY_MS);
    }
  }

  /** Its devices are off for the other regions. */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#regions.leave();
    this.#regions.close();
    await this.#links.close();
    await this.#withdraw?.();
    await this.#log.stop();
  }

  /** What is wrong, for the status; '' = nothing. */
  get trouble() {
    if (this.#portTrouble) return `port: ${this.#portTrouble}`;
    const { state, reason } = this.#log;
    if (!this.#regions.isReady) return state === 'refused' ? 'Kafka refused' : 'presence is being read';
    if (state !== 'connected' && reason !== '') return 'presence stands still (Kafka)';
    if (this.#regions.table.isFull) return 'presence table full';
    const missing = this.#links.missing().length;
    return missing > 0 ? `${missing} not reachable` : '';
  }

  /** Returns what the metrics and the live view show. Totals are those since the start. */
  figures() {
    const regions = this.#regions;
    const { table, isReady, counts } = regions;
    const peers = this.#links.all().map((each) => ({
      ...each,
      devices: table.countAt(each.ci),
      isUnknown: regions.isUnknown(each.ci)
    }));
    return {
      own: this.#settings.own,
      isReady,
      log: { state: this.#log.state, reason: this.#log.reason, waiting: this.#log.waiting },
      devices: table.size,
      refused: table.refused,
      counts: { ...counts },
      /** Other regions: those with a link, and those with devices. isUnknown: whether the devices are on is unknown. */
      peers,
      connections: { ...this.#links.counts }
    };
  }
}

/** Of a key, and of a value. */
const MOST_BYTES = 2048;

/**
 * Returns what opens the presence topic in Kafka.
 * @param {{ cluster: import('../../kafka/settings/kafka-options').ClusterOptions, clientId: string, topic: string,
 *   ci: string }} options ci: address of this region
 * @returns {(hooks: ThreadHooks) => Log}
 */
const kafkaLog =
  ({ cluster, clientId, topic, ci }) =>
  (hooks) =>
    new CompactedThread(
      'seganet-region',
      {
        cluster,
        clientId,
        topics: [topic],
        marker: { key: `${MARKER}${ci}`, body: { ci } },
        what: 'The presence of other regions',
        forgotten: 'where devices are signed in',
        mostBytes: MOST_BYTES,
        creates: true
      },
      hooks
    );

module.exports = { RunningRegion, kafkaLog };
