'use strict';
// The radio. It receives advertisements and connects to the configured devices, one after the other. noble does not
// scan while it connects, so scanning starts again after each attempt.

const { Backoff } = require('../../base/backoff');
const { describe, fits, isWanted } = require('./advertisement');
const { guard, forget } = require('./noble-hardening');
const { identify, topicOf } = require('./ble-identity');
const { Link } = require('./ble-link');

const TICK_MS = 1000;
/** Most remembered devices. The device that was silent for the longest time is forgotten first. */
const MAX_SEEN = 5000;
/** Shortest delay between two attempts to connect to a device. */
const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 60000;
const LEAVE_MS = 500;
/** A link of at least this duration resets the back-off. */
const GOOD_LINK_MS = 10000;

/**
 * @typedef {import('./ble-settings').BleSettings} BleSettings
 * @typedef {import('./advertisement').Heard} Heard
 *
 * @typedef {object} Seen a device that was received
 * @property {any} peripheral
 * @property {string} said the latest advertisement that became a record
 * @property {number} saidAt ms
 * @property {Backoff | null} backoff
 * @property {number} retryAt ms
 *
 * @typedef {object} Report callbacks to the gateway
 * @property {(record: import('./ble-outbox').BleRecord) => void} record
 * @property {(device: string, on: boolean) => void} linked
 * @property {(device: string, reason: string) => void} trouble called if a connection failed or was lost
 *
 * @typedef {object} View
 * @property {number} connected
 * @property {number} seen
 * @property {number} malformed packets
 */

class Central {
  #noble;
  #settings;
  #report;
  #now;
  #wallClock;
  #maxSeen;
  /** @type {Map<string, Seen>} by id, least recently received first */
  #seen;
  /** @type {Map<string, import('./ble-link').Link>} by id */
  #links;
  #connecting;
  #scanning;
  #stopped;
  #malformed;
  #timer;

  /**
   * @param {any} noble
   * @param {BleSettings} settings
   * @param {Report} report
   * @param {{ now?: () => number, wallClock?: () => number, maxSeen?: number }} [options]
   */
  constructor(noble, settings, report, options = {}) {
    this.#noble = noble;
    this.#settings = settings;
    this.#report = report;
    this.#now = options.now ?? (() => performance.now());
    this.#wallClock = options.wallClock ?? Date.now;
    this.#maxSeen = options.maxSeen ?? MAX_SEEN;
    this.#seen = new Map();
    this.#links = new Map();
    this.#connecting = false;
    this.#scanning = false;
    this.#stopped = false;
    this.#malformed = 0;
    noble.on('scanStart', () => (this.#scanning = true));
    noble.on('scanStop', () => (this.#scanning = false));
    noble.on('discover', (/** @type {any} */ peripheral) => this.#onDiscover(peripheral));
    this.#timer = setInterval(() => this.#scan(), TICK_MS);
  }

  /** Call it when the adapter is on. */
  start() {
    guard(this.#noble, () => this.#malformed++);
    this.#scan();
  }

  /** @returns {View} */
  view() {
    const connected = [...this.#links.values()].filter(({ ready }) => ready).length;
    return { connected, seen: this.#seen.size, malformed: this.#malformed };
  }

  /**
   * @param {string} device
   * @param {string} path see Link.write()
   * @param {Buffer} value
   * @returns {Promise<'taken' | 'refused' | 'timeout' | 'offline'>}
   */
  async write(device, path, value) {
    for (const link of this.#links.values()) {
      if (link.ready && link.identity.device === device) return link.write(path, value);
    }
    return 'offline';
  }

  /** Disconnects all devices, and waits, because a serial port that closes immediately would not notify them. */
  async stop() {
    this.#stopped = true;
    clearInterval(this.#timer);
    const links = [...this.#links.values()];
    for (const link of links) link.close();
    const left = Promise.all(links.filter(({ ready }) => ready).map(({ gone }) => gone));
    await Promise.race([left, new Promise((resolve) => setTimeout(resolve, LEAVE_MS))]);
  }

  #scan() {
    if (this.#stopped || this.#connecting || this.#scanning || this.#noble.state !== 'poweredOn') return;
    // Duplicates show that a device is still in range, and carry new data.
    this.#noble.startScanning([], true, () => {});
  }

  /** @param {any} peripheral */
  #onDiscover(peripheral) {
    // A controller may still scan for the previous process.
    if (this.#stopped || this.#noble.state !== 'poweredOn') return;
    if (!isWanted(this.#settings, peripheral)) {
      if (!this.#seen.has(peripheral.id)) this.#remember(peripheral);
      return;
    }
    const seen = this.#remember(peripheral);
    this.#tell(seen);
    this.#maybeConnect(seen);
  }

  /** @param {any} peripheral @returns {Seen} */
  #remember(peripheral) {
    const seen = this.#seen.get(peripheral.id) ?? {
      peripheral,
      said: '',
      saidAt: -Infinity,
      backoff: null,
      retryAt: -Infinity
    };
    seen.peripheral = peripheral;
    this.#seen.delete(peripheral.id);
    this.#seen.set(peripheral.id, seen);
    if (this.#seen.size > this.#maxSeen) this.#forgetOldest();
    return seen;
  }

  #forgetOldest() {
    for (const [id, { peripheral }] of this.#seen) {
      if (this.#links.has(id)) continue;
      this.#seen.delete(id);
      forget(this.#noble, peripheral);
      return;
    }
  }

  /**
   * Makes a record of an advertisement, if the settings want one.
   * @param {Seen} seen
   */
  #tell(seen) {
    const { advertisements, everyS } = this.#settings;
    if (advertisements === 'off' || this.#now() - seen.saidAt < everyS * 1000) return;
    const { peripheral } = seen;
    const facts = describe(peripheral);
    const said = JSON.stringify(facts);
    if (advertisements === 'changed' && said === seen.said) return;
    seen.said = said;
    seen.saidAt = this.#now();
    const identity = identify(this.#settings, peripheral);
    this.#report.record({
      deviceId: identity.device,
      topic: topicOf(this.#settings, identity, 'advertisement'),
      payload: Buffer.from(JSON.stringify({ ...facts, rssi: peripheral.rssi })),
      ts: this.#wallClock(),
      advertisement: true
    });
  }

  /** @param {Seen} seen */
  #maybeConnect(seen) {
    const { connect, maxConnections } = this.#settings;
    const { peripheral } = seen;
    if (this.#connecting || this.#links.size >= maxConnections || this.#links.has(peripheral.id)) return;
    if (!peripheral.connectable || !fits(connect, peripheral) || this.#now() < seen.retryAt) return;
    void this.#connect(seen);
  }

  /** @param {Seen} seen */
  async #connect(seen) {
    const { peripheral } = seen;
    const identity = identify(this.#settings, peripheral);
    const emit = this.#report.record;
    const link = new Link({
      peripheral,
      identity,
      settings: this.#settings,
      emit,
      wallClock: this.#wallClock
    });
    this.#links.set(peripheral.id, link);
    this.#connecting = true;
    const since = this.#now();
    try {
      // Scanning continues as soon as this device is connected, while its services are discovered.
      const opened = link.open();
      await Promise.race([new Promise((resolve) => peripheral.once('connect', resolve)), opened]);
      this.#connecting = false;
      this.#scan();
      await opened;
      this.#report.linked(identity.device, true);
      const reason = await link.gone;
      this.#report.linked(identity.device, false);
      if (!this.#stopped) this.#report.trouble(identity.device, reason);
    } catch (error) {
      this.#report.trouble(identity.device, error instanceof Error ? error.message : String(error));
    } finally {
      this.#connecting = false;
      this.#links.delete(peripheral.id);
      this.#putOff(seen, this.#now() - since);
      this.#scan();
    }
  }

  /** @param {Seen} seen @param {number} lastedMs */
  #putOff(seen, lastedMs) {
    seen.backoff ??= new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    if (lastedMs >= GOOD_LINK_MS) seen.backoff.reset();
    seen.retryAt = this.#now() + seen.backoff.next();
  }
}

exports.Central = Central;
