'use strict';
// The latest values of devices, from the records that a find node gets, and what a ranking needs of them. In memory,
// with limits.

const { numbersOf } = require('../series/numbers');

const MAX_VALUES = 32;
const MAX_NAME = 64;
/** Signal strength in dBm that can be true. */
const [MIN_RSSI, MAX_RSSI] = [-150, 20];

/**
 * @typedef {object} Known
 * @property {number} at when the device was last seen; ms, monotonic; -Infinity = never
 * @property {number | null} rssi dBm, null = unknown
 * @property {number} cls class, 0 = unknown
 * @property {string} name that a Bluetooth device gives itself, '' = none
 * @property {string} protocol '' = unknown
 * @property {Map<string, { value: number, at: number }>} values at: ms, monotonic
 *
 * @typedef {object} Noted a record
 * @property {string} device
 * @property {unknown} payload
 * @property {string} topic
 * @property {number} ts ms since 1970, 0 = now
 * @property {number} cls 0 = unknown
 * @property {unknown} [rssi] of the message
 * @property {string} [protocol] through which it came
 */

class Values {
  #max;
  #now;
  #wall;
  /** The least recently seen first. @type {Map<string, Known>} */
  #devices = new Map();
  /** @type {Map<string, Set<() => void>>} */
  #waiting = new Map();
  /** Devices with a new property, protocol or name. @type {Set<string>} */
  #changed = new Set();
  /** How often a device was forgotten, or not noted, because there were too many. */
  forgotten = 0;

  /**
   * @param {number} max devices
   * @param {{ now?: () => number, wall?: () => number }} [clocks] ms: monotonic, and since 1970
   */
  constructor(max, { now = () => performance.now(), wall = Date.now } = {}) {
    this.#max = max;
    this.#now = now;
    this.#wall = wall;
  }

  /**
   * @param {Noted} record
   * @returns {boolean} true if the device has a property or a name that it did not have before
   */
  note({ device, payload, topic, ts, cls, rssi, protocol = '' }) {
    const now = this.#now();
    const at = now - (ts > 0 ? Math.max(0, this.#wall() - ts) : 0);
    const isKnown = this.#devices.has(device);
    const known = this.#get(device);
    let isNew = !isKnown || (known.protocol === '' && protocol !== '');
    known.at = Math.max(known.at, at);
    if (cls > 0) known.cls = cls;
    known.protocol ||= protocol;
    const { names, values } = namedNumbers(payload, topic, device);
    const signal =
      typeof rssi === 'number' ? rssi : values[names.findIndex((name) => /(^|\.)rssi$/i.test(name))];
    if (signal !== undefined && signal >= MIN_RSSI && signal <= MAX_RSSI) known.rssi = signal;
    for (const [index, name] of names.entries()) {
      const before = known.values.get(name);
      if (name.length > MAX_NAME || (!before && known.values.size >= MAX_VALUES)) continue;
      isNew ||= !before;
      // A record that waited during an outage must not replace a newer value.
      if (!before || at >= before.at) known.values.set(name, { value: values[index], at });
    }
    if (protocol === 'ble' && known.name === '') {
      known.name = bluetoothName(payload);
      isNew ||= known.name !== '';
    }
    if (isNew) this.#changed.add(device);
    for (const wake of [...(this.#waiting.get(device) ?? [])]) wake();
    return isNew;
  }

  /**
   * Notes what the engine knows of a device.
   * @param {string} device
   * @param {{ silentMs: number, cls: number, protocol: string }} state silentMs: -1 = unknown
   */
  see(device, { silentMs, cls, protocol }) {
    const isKnown = this.#devices.has(device);
    // A list of devices must not remove those whose records arrive.
    if (!isKnown && this.#devices.size >= this.#max) return void this.forgotten++;
    const known = this.#devices.get(device) ?? this.#get(device);
    if (!isKnown || (protocol !== '' && protocol !== known.protocol)) this.#changed.add(device);
    known.protocol = protocol || known.protocol;
    if (silentMs >= 0) known.at = Math.max(known.at, this.#now() - silentMs);
    if (cls > 0) known.cls = cls;
  }

  /** @param {string} device @returns {Known | undefined} */
  of(device) {
    return this.#devices.get(device);
  }

  /**
   * @param {string} device
   * @param {string} name
   * @returns {{ value: number, ageMs: number } | null}
   */
  valueOf(device, name) {
    const found = this.#devices.get(device)?.values.get(name);
    return found ? { value: found.value, ageMs: Math.max(0, this.#now() - found.at) } : null;
  }

  /**
   * Waits for a record of the device that has the property and is not older than this call.
   * @param {string} device
   * @param {string} name
   * @param {number} timeoutMs
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false: none came
   */
  wait(device, name, timeoutMs, signal) {
    const start = this.#now();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(device) ?? new Set();
      const end = (/** @type {boolean} */ isThere) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(device) === waiting) this.#waiting.delete(device);
        resolve(isThere);
      };
      const wake = () => {
        const value = this.#devices.get(device)?.values.get(name);
        if (value && value.at >= start - 1) end(true);
      };
      const stop = () => end(false);
      const timer = setTimeout(stop, timeoutMs);
      signal?.addEventListener('abort', stop, { once: true });
      this.#waiting.set(device, waiting.add(wake));
    });
  }

  /** @param {Iterable<string>} devices whose things must be made again */
  change(devices) {
    for (const device of devices) this.#changed.add(device);
  }

  /** @returns {string[]} devices that have changed since the last call */
  takeChanged() {
    const changed = [...this.#changed].filter((device) => this.#devices.has(device));
    this.#changed.clear();
    return changed;
  }

  /** @returns {string[]} devices that were seen within this time, or whose time is unknown. @param {number} ms */
  seenWithin(ms) {
    const since = this.#now() - ms;
    return [...this.#devices].flatMap(([device, { at }]) =>
      at >= since || at === -Infinity ? [device] : []
    );
  }

  get size() {
    return this.#devices.size;
  }

  /** @param {string} device @returns {Known} */
  #get(device) {
    const known = this.#devices.get(device) ?? {
      at: -Infinity,
      rssi: null,
      cls: 0,
      name: '',
      protocol: '',
      values: new Map()
    };
    this.#devices.delete(device);
    this.#devices.set(device, known);
    if (this.#devices.size > this.#max) {
      const [oldest] = this.#devices.keys();
      this.#devices.delete(oldest);
      this.#changed.delete(oldest);
      this.forgotten++;
    }
    return known;
  }
}

/** @param {unknown} payload @param {string} topic @param {string} device */
function namedNumbers(payload, topic, device) {
  const options = { choices: [], maxValues: MAX_VALUES, byTopic: false };
  const found = numbersOf(payload, '', options);
  const level = topic.split('/').filter(Boolean).at(-1) ?? '';
  // The topic names a payload that is only a number, such as d/th-105/temperature.
  const isNamed = found.names.length === 1 && found.names[0] === 'value' && level !== '' && level !== device;
  return isNamed ? { ...found, names: [level] } : found;
}

/** @param {unknown} payload of an advertisement */
function bluetoothName(payload) {
  try {
    const { name } = JSON.parse(String(payload));
    return typeof name === 'string' ? name.slice(0, MAX_NAME) : '';
  } catch {
    return '';
  }
}

exports.Values = Values;
