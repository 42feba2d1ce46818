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
  #settings;
  #emit;
  #wallClock;
  /** @type {Found[]} */
  #found;
  /** @type {NodeJS.Timeout[]} */
  #timers;
  /** @type {((reason: string) => void) | undefined} */
  #resolveGone;

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
    this.#settings = settings;
    this.#emit = emit;
    this.#wallClock = wallClock;
    this.#found = [];
    this.#timers = [];
    /** True after the last subscription. */
    this.ready = false;
    /** Characteristics whose subscription the device refused. */
    this.refused = 0;
    /** Why the link ended, '' = it has not ended. */
    this.ended = '';
    /** @type {Promise<string>} resolves with the reason when the device is disconnected */
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
      peripheral.once('disconnect', (/** @type {unknown} */ reason) => resolve(`disconnected (${reason})`));
    });
    void this.gone.then((reason) => this.#end(reason));
  }

  /** @throws {Error} if the device cannot be used; it is then disconnected */
  async open() {
    try {
      await within(this.peripheral.connectAsync(), CONNECT_MS, 'the connection request');
      this.#found = await this.#find();
      await this.#start();
      this.ready = true;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @returns {Promise<Found[]>} the rows whose characteristics this device has */
  async #find() {
    const services = await within(
      this.peripheral.discoverServicesAsync([]),
      DISCOVER_MS,
      'service discovery'
    );
    /** @type {Found[]} */
    const found = [];
    for (const service of services) {
      const uuid = normalUuid(service.uuid);
      const rows = this.#settings.rows.filter((row) => row.service === '' || row.service === uuid);
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
    if (found.length === 0 && this.#settings.rows.length > 0) {
      throw new LinkError('the device has none of the characteristics');
    }
    return found;
  }

  async #start() {
    for (const found of this.#found) {
      if (found.row.mode === 'notify') await this.#subscribe(found);
      if (found.row.mode === 'read') this.#repeat(found.row.intervalS, () => this.#read(found), true);
    }
    if (this.#settings.rssiS > 0) this.#repeat(this.#settings.rssiS, () => this.#measure(), true);
    const notify = this.#found.filter(({ row }) => row.mode === 'notify').length;
    if (
      notify > 0 &&
      notify === this.#found.length &&
      this.refused === notify &&
      this.#settings.rssiS === 0
    ) {
      throw new LinkError('the device refused every subscription');
    }
  }

  /** @param {Found} found */
  async #subscribe({ characteristic }) {
    const uuid = normalUuid(characteristic.uuid);
    // Responses to reads cause the same event.
    characteristic.on('data', (/** @type {Buffer} */ value, /** @type {boolean} */ isNotification) => {
      if (isNotification && !this.ended) this.#tell(uuid, value);
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
  #repeat(seconds, task, now) {
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
    this.#timers.push(setInterval(run, seconds * 1000));
    if (now) run();
  }

  /** @param {Found} found */
  async #read({ characteristic }) {
    const value = await within(characteristic.readAsync(), ANSWER_MS, 'a read');
    // noble returns an empty value for a refusal.
    if (value.length > 0) this.#tell(normalUuid(characteristic.uuid), value);
  }

  async #measure() {
    const rssi = await within(this.peripheral.updateRssiAsync(), ANSWER_MS, 'a signal measurement');
    this.#add('rssi', Buffer.from(JSON.stringify({ rssi })));
  }

  /**
   * @param {string} uuid
   * @param {Buffer} value
   */
  #tell(uuid, value) {
    const raw = this.#settings.payload === 'raw';
    this.#add(nameOf(uuid), raw ? Buffer.from(value) : Buffer.from(JSON.stringify(decode(uuid, value))));
  }

  /** @param {string} kind @param {Buffer} payload */
  #add(kind, payload) {
    const { identity } = this;
    const settings = this.#settings;
    const topic = topicOf(settings, identity, kind);
    this.#emit({ deviceId: identity.device, topic, payload, ts: this.#wallClock(), advertisement: false });
  }

  /**
   * Executes a command. Only characteristics that a row allows may be written.
   * @param {string} path characteristic, or service/characteristic
   * @param {Buffer} value
   * @returns {Promise<'taken' | 'refused' | 'timeout'>}
   */
  async write(path, value) {
    const [characteristic, service = ''] = path.split('/').map(normalUuid).reverse();
    const found = this.#found.find(
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
    this.#end('closed');
    // A hung controller reports no disconnect.
    setTimeout(() => this.#resolveGone?.('no answer to the disconnect request'), ANSWER_MS).unref();
  }

  /** @param {string} reason */
  #end(reason) {
    if (this.ended) return;
    this.ended = reason;
    for (const timer of this.#timers) clearInterval(timer);
  }
}

exports.Link = Link;
