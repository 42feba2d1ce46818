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
  /**
   * @param {any} noble
   * @param {BleSettings} settings
   * @param {Report} report
   * @param {{ now?: () => number, wallClock?: () => number, maxSeen?: number }} [options]
   */
  constructor(noble, settings, report, options = {}) {
    this.noble_ = noble;
    this.settings_ = settings;
    this.report_ = report;
    this.now_ = options.now ?? (() => performance.now());
    this.wallClock_ = options.wallClock ?? Date.now;
    this.maxSeen_ = options.maxSeen ?? MAX_SEEN;
    /** @type {Map<string, Seen>} by id, least recently received first */
    this.seen_ = new Map();
    /** @type {Map<string, import('./ble-link').Link>} by id */
    this.links_ = new Map();
    this.connecting_ = false;
    this.scanning_ = false;
    this.stopped_ = false;
    this.malformed_ = 0;
    noble.on('scanStart', () => (this.scanning_ = true));
    noble.on('scanStop', () => (this.scanning_ = false));
    noble.on('discover', (/** @type {any} */ peripheral) => this.onDiscover_(peripheral));
    this.timer_ = setInterval(() => this.scan_(), TICK_MS);
  }

  /** Call it when the adapter is on. */
  start() {
    guard(this.noble_, () => this.malformed_++);
    this.scan_();
  }

  /** @returns {View} */
  view() {
    const connected = [...this.links_.values()].filter(({ ready }) => ready).length;
    return { connected, seen: this.seen_.size, malformed: this.malformed_ };
  }

  /**
   * @param {string} device
   * @param {string} path see Link.write()
   * @param {Buffer} value
   * @returns {Promise<'taken' | 'refused' | 'timeout' | 'offline'>}
   */
  async write(device, path, value) {
    for (const link of this.links_.values()) {
      if (link.ready && link.identity.device === device) return link.write(path, value);
    }
    return 'offline';
  }

  /** Disconnects all devices, and waits, because a serial port that closes immediately would not notify them. */
  async stop() {
    this.stopped_ = true;
    clearInterval(this.timer_);
    const links = [...this.links_.values()];
    for (const link of links) link.close();
    const left = Promise.all(links.filter(({ ready }) => ready).map(({ gone }) => gone));
    await Promise.race([left, new Promise((resolve) => setTimeout(resolve, LEAVE_MS))]);
  }

  scan_() {
    if (this.stopped_ || this.connecting_ || this.scanning_ || this.noble_.state !== 'poweredOn') return;
    // Duplicates show that a device is still in range, and carry new data.
    this.noble_.startScanning([], true, () => {});
  }

  /** @param {any} peripheral */
  onDiscover_(peripheral) {
    // A controller may still scan for the previous process.
    if (this.stopped_ || this.noble_.state !== 'poweredOn') return;
    if (!isWanted(this.settings_, peripheral)) {
      if (!this.seen_.has(peripheral.id)) this.remember_(peripheral);
      return;
    }
    const seen = this.remember_(peripheral);
    this.tell_(seen);
    this.maybeConnect_(seen);
  }

  /** @param {any} peripheral @returns {Seen} */
  remember_(peripheral) {
    const seen = this.seen_.get(peripheral.id) ?? {
      peripheral,
      said: '',
      saidAt: -Infinity,
      backoff: null,
      retryAt: -Infinity
    };
    seen.peripheral = peripheral;
    this.seen_.delete(peripheral.id);
    this.seen_.set(peripheral.id, seen);
    if (this.seen_.size > this.maxSeen_) this.forgetOldest_();
    return seen;
  }

  forgetOldest_() {
    for (const [id, { peripheral }] of this.seen_) {
      if (this.links_.has(id)) continue;
      this.seen_.delete(id);
      forget(this.noble_, peripheral);
      return;
    }
  }

  /**
   * Makes a record of an advertisement, if the settings want one.
   * @param {Seen} seen
   */
  tell_(seen) {
    const { advertisements, everyS } = this.settings_;
    if (advertisements === 'off' || this.now_() - seen.saidAt < everyS * 1000) return;
    const { peripheral } = seen;
    const facts = describe(peripheral);
    const said = JSON.stringify(facts);
    if (advertisements === 'changed' && said === seen.said) return;
    seen.said = said;
    seen.saidAt = this.now_();
    const identity = identify(this.settings_, peripheral);
    this.report_.record({
      deviceId: identity.device,
      topic: topicOf(this.settings_, identity, 'advertisement'),
      payload: Buffer.from(JSON.stringify({ ...facts, rssi: peripheral.rssi })),
      ts: this.wallClock_(),
      advertisement: true
    });
  }

  /** @param {Seen} seen */
  maybeConnect_(seen) {
    const { connect, maxConnections } = this.settings_;
    const { peripheral } = seen;
    if (this.connecting_ || this.links_.size >= maxConnections || this.links_.has(peripheral.id)) return;
    if (!peripheral.connectable || !fits(connect, peripheral) || this.now_() < seen.retryAt) return;
    void this.connect_(seen);
  }

  /** @param {Seen} seen */
  async connect_(seen) {
    const { peripheral } = seen;
    const identity = identify(this.settings_, peripheral);
    const emit = this.report_.record;
    const link = new Link({
      peripheral,
      identity,
      settings: this.settings_,
      emit,
      wallClock: this.wallClock_
    });
    this.links_.set(peripheral.id, link);
    this.connecting_ = true;
    const since = this.now_();
    try {
      // Scanning continues as soon as this device is connected, while its services are discovered.
      const opened = link.open();
      await Promise.race([new Promise((resolve) => peripheral.once('connect', resolve)), opened]);
      this.connecting_ = false;
      this.scan_();
      await opened;
      this.report_.linked(identity.device, true);
      const reason = await link.gone;
      this.report_.linked(identity.device, false);
      if (!this.stopped_) this.report_.trouble(identity.device, reason);
    } catch (error) {
      this.report_.trouble(identity.device, error instanceof Error ? error.message : String(error));
    } finally {
      this.connecting_ = false;
      this.links_.delete(peripheral.id);
      this.putOff_(seen, this.now_() - since);
      this.scan_();
    }
  }

  /** @param {Seen} seen @param {number} lastedMs */
  putOff_(seen, lastedMs) {
    seen.backoff ??= new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    if (lastedMs >= GOOD_LINK_MS) seen.backoff.reset();
    seen.retryAt = this.now_() + seen.backoff.next();
  }
}

exports.Central = Central;
