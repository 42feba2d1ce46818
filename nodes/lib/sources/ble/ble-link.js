'use strict';
// A connection to one device, with its subscriptions and reads.

const { decode, nameOf } = require('./gatt-decode');
const { topicOf } = require('./ble-identity');
const { normalUuid } = require('./uuid');
const { within, TooLate } = require('./time-limit');

const CONNECT_MS = 15000;
const DISCOVER_MS = 10000;
const ANSWER_MS = 5000;

/**
 * @typedef {import('./ble-settings').BleSettings} BleSettings
 * @typedef {import('./ble-settings').Row} Row
 * @typedef {import('./ble-identity').Identity} Identity
 * @typedef {{ row: Row, service: string, characteristic: any }} Found
 */

/** Ends a link for a reason that is shown to the operator. */
class LinkError extends Error {}

class Link {
  /**
   * @param {object} options
   * @param {any} options.peripheral of noble
   * @param {Identity} options.identity
   * @param {BleSettings} options.settings
   * @param {(record: import('./ble-outbox').BleRecord) => void} options.emit
   * @param {() => number} [options.wallClock] ms since the epoch
   */
  constructor({ peripheral, identity, settings, emit, wallClock = Date.now }) {
    this.peripheral = peripheral;
    this.identity = identity;
    this.settings_ = settings;
    this.emit_ = emit;
    this.wallClock_ = wallClock;
    /** @type {Found[]} */
    this.found_ = [];
    /** @type {NodeJS.Timeout[]} */
    this.timers_ = [];
    /** True after the last subscription. */
    this.ready = false;
    /** Characteristics whose subscription the device refused. */
    this.refused = 0;
    /** Why the link ended, '' = it has not ended. */
    this.ended = '';
    /** @type {Promise<string>} resolves with the reason when the device is disconnected */
    this.gone = new Promise((resolve) => {
      this.resolveGone_ = resolve;
      peripheral.once('disconnect', (/** @type {unknown} */ reason) => resolve(`disconnected (${reason})`));
    });
    void this.gone.then((reason) => this.end_(reason));
  }

  /** @throws {Error} if the device cannot be used; it is then disconnected */
  async open() {
    try {
      await within(this.peripheral.connectAsync(), CONNECT_MS, 'the connection request');
      this.found_ = await this.find_();
      await this.start_();
      this.ready = true;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @returns {Promise<Found[]>} the rows whose characteristics this device has */
  async find_() {
    const services = await within(
      this.peripheral.discoverServicesAsync([]),
      DISCOVER_MS,
      'service discovery'
    );
    /** @type {Found[]} */
    const found = [];
    for (const service of services) {
      const uuid = normalUuid(service.uuid);
      const rows = this.settings_.rows.filter((row) => row.service === '' || row.service === uuid);
      if (rows.length === 0) continue;
      const characteristics = await within(
        service.discoverCharacteristicsAsync([]),
        DISCOVER_MS,
        'characteristic discovery'
      );
      for (const characteristic of characteristics) {
        for (const mode of ['notify', 'read', 'write']) {
          // Only the first row of each mode, because a second one would report every value twice.
          const row = rows.find(
            (each) => each.mode === mode && each.characteristic === normalUuid(characteristic.uuid)
          );
          if (row) found.push({ row, service: uuid, characteristic });
        }
      }
    }
    if (found.length === 0 && this.settings_.rows.length > 0) {
      throw new LinkError('the device has none of the characteristics');
    }
    return found;
  }

  async start_() {
    for (const found of this.found_) {
      if (found.row.mode === 'notify') await this.subscribe_(found);
      if (found.row.mode === 'read') this.repeat_(found.row.intervalS, () => this.read_(found), true);
    }
    if (this.settings_.rssiS > 0) this.repeat_(this.settings_.rssiS, () => this.measure_(), true);
    const notify = this.found_.filter(({ row }) => row.mode === 'notify').length;
    if (
      notify > 0 &&
      notify === this.found_.length &&
      this.refused === notify &&
      this.settings_.rssiS === 0
    ) {
      throw new LinkError('the device refused every subscription');
    }
  }

  /** @param {Found} found */
  async subscribe_({ characteristic }) {
    const uuid = normalUuid(characteristic.uuid);
    // Responses to reads cause the same event.
    characteristic.on('data', (/** @type {Buffer} */ value, /** @type {boolean} */ isNotification) => {
      if (isNotification && !this.ended) this.tell_(uuid, value);
    });
    try {
      await within(characteristic.subscribeAsync(), ANSWER_MS, 'a subscription');
    } catch (error) {
      // noble does not report a refusal, and the link itself may be healthy.
      if (!(error instanceof TooLate)) throw error;
      this.refused++;
    }
  }

  /**
   * @param {number} seconds
   * @param {() => Promise<void>} task calls never overlap
   * @param {boolean} now
   */
  repeat_(seconds, task, now) {
    let busy = false;
    const run = () => {
      if (busy || this.ended) return;
      busy = true;
      task()
        .catch((error) => {
          // A timed-out ATT transaction ends the link (volume 3, part F, 3.3.3).
          if (error instanceof TooLate) this.close();
        })
        .finally(() => {
          busy = false;
        });
    };
    this.timers_.push(setInterval(run, seconds * 1000));
    if (now) run();
  }

  /** @param {Found} found */
  async read_({ characteristic }) {
    const value = await within(characteristic.readAsync(), ANSWER_MS, 'a read');
    // noble returns an empty value for a refusal.
    if (value.length > 0) this.tell_(normalUuid(characteristic.uuid), value);
  }

  async measure_() {
    const rssi = await within(this.peripheral.updateRssiAsync(), ANSWER_MS, 'a signal measurement');
    this.add_('rssi', Buffer.from(JSON.stringify({ rssi })));
  }

  /**
   * @param {string} uuid
   * @param {Buffer} value
   */
  tell_(uuid, value) {
    const raw = this.settings_.payload === 'raw';
    this.add_(nameOf(uuid), raw ? Buffer.from(value) : Buffer.from(JSON.stringify(decode(uuid, value))));
  }

  /** @param {string} kind @param {Buffer} payload */
  add_(kind, payload) {
    const { identity, settings_ } = this;
    const topic = topicOf(settings_, identity, kind);
    this.emit_({ deviceId: identity.device, topic, payload, ts: this.wallClock_(), advertisement: false });
  }

  /**
   * Executes a command. Only characteristics that a row allows may be written.
   * @param {string} path characteristic, or service/characteristic
   * @param {Buffer} value
   * @returns {Promise<'taken' | 'refused' | 'timeout'>}
   */
  async write(path, value) {
    const [characteristic, service = ''] = path.split('/').map(normalUuid).reverse();
    const found = this.found_.find(
      (each) =>
        each.row.mode === 'write' &&
        each.row.characteristic === characteristic &&
        (service === '' || each.service === service)
    );
    if (!found || !characteristic || path.split('/').length > 2) return 'refused';
    const { properties } = found.characteristic;
    const blind = !properties.includes('write');
    if (blind && !properties.includes('writeWithoutResponse')) return 'refused';
    try {
      await within(found.characteristic.writeAsync(value, blind), ANSWER_MS, 'a write');
      return 'taken';
    } catch {
      return 'timeout';
    }
  }

  /** Disconnects the device. */
  close() {
    const { peripheral } = this;
    if (peripheral.state === 'connecting') peripheral.cancelConnect();
    else if (peripheral.state === 'connected') peripheral.disconnect();
    this.end_('closed');
    // A hung controller reports no disconnect.
    setTimeout(() => this.resolveGone_?.('no answer to the disconnect request'), ANSWER_MS).unref();
  }

  /** @param {string} reason */
  end_(reason) {
    if (this.ended) return;
    this.ended = reason;
    for (const timer of this.timers_) clearInterval(timer);
  }
}

exports.Link = Link;
