'use strict';
// Brings devices to the rate that is wanted, and back to their normal one. A device that the gateway reads is read more
// often. Any other one gets a command, and in the end the one that restores its normal rate, which waits for it.

const { wantedOf } = require('./record');

/** A device that did not acknowledge three times is tried again after this time, or when it connects. */
const RETRY_MS = 60000;

/**
 * @typedef {import('./record').Record} Device
 *
 * @typedef {object} RatesParts
 * @property {Pick<import('../commands').Commands, 'lead' | 'retract'>} commands
 * @property {import('../engine/device-readers').DeviceReaders} readers
 * @property {() => number} now ms, monotonic
 * @property {(record: Device, state: import('./record').State, reason?: string) => void} change the state of a device
 * @property {(record: Device) => void} normal nothing is wanted of the device, and it is owed nothing
 * @property {(record: Device, reason: string) => void} refused the device refused the rate: its questions end
 * @property {(record: Device) => void} restored the device acknowledged its normal rate
 * @property {(device: string, reason: string) => void} unrestored the device refused its normal rate
 * @property {(at: number) => void} wakeAt calls retry() at that time
 */

class Rates {
  #parts;
  #isClosed = false;
  /** Until the flows have started, devices are only brought back to their normal rate. */
  hasBegun = false;

  /** @param {RatesParts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  close() {
    this.#isClosed = true;
  }

  /** @param {string} device */
  byOf(device) {
    return this.#parts.readers.has(device) ? 'reading' : 'command';
  }

  /** Brings the device to the rate that is wanted. @param {Device} record */
  apply(record) {
    if (this.#isClosed) return;
    const wanted = wantedOf(record);
    if (wanted && !this.hasBegun) return;
    this.read(record, record.by === 'reading' ? (wanted?.everyMs ?? 0) : 0);
    if (wanted && record.by === 'command') return this.#command(record, wanted);
    if (wanted) this.#parts.change(record, record.reading ? 'on' : 'waiting');
    this.#restore(record, wanted !== null);
  }

  /** @param {Device} record @param {number} everyMs 0 = not beside what its node does anyway */
  read(record, everyMs) {
    if ((record.reading?.everyMs ?? 0) === everyMs) return;
    const { device, reading } = record;
    record.reading = null;
    reading?.end();
    const { readers } = this.#parts;
    if (everyMs > 0 && readers.has(device)) record.reading = { everyMs, end: readers.start(device, everyMs) };
  }

  /** @param {Device} record */
  connected(record) {
    if (record.by === 'reading') return;
    record.retryAt = 0;
    // It may have started again, with its normal rate. A command that waits goes out now anyway.
    if (!record.job) record.sent = null;
    this.apply(record);
  }

  /** @param {Device} record */
  readersChanged(record) {
    // A device that had no reader when it was asked about, such as one that signs in later.
    if (record.by === 'command' && !record.isTouched && record.questions.size > 0) {
      record.by = this.byOf(record.device);
      record.sent = null;
    }
    if (record.by !== 'reading') return;
    this.read(record, 0);
    this.apply(record);
  }

  /** @param {Device} record @param {{ everyMs: number, endsAt: number }} wanted */
  #command(record, wanted) {
    const { sent, responsible, retryAt } = record;
    const { now, change, refused } = this.#parts;
    if (!responsible || retryAt > now()) return;
    const { way } = responsible;
    const isSame = sent?.everyMs === wanted.everyMs;
    if (isSame && (!way.sendsEnd || sent.endsAt >= wanted.endsAt)) return;
    const command = way.command(record.device, wanted.everyMs, wanted.endsAt - now());
    record.sent = wanted;
    change(record, 'waiting');
    this.#lead(record, command, (status, reason) => {
      if (status === 'taken') return change(record, 'on');
      record.sent = null;
      if (status === 'timeout') return this.#silent(record, reason);
      refused(record, `The device refused the rate. ${reason}`.trim());
      this.apply(record);
    });
  }

  /** @param {Device} record @param {boolean} isAsked by reading */
  #restore(record, isAsked) {
    const { device, restore, job, retryAt } = record;
    const { commands, now, change, normal, restored, unrestored } = this.#parts;
    const isOwed = restore && (record.isTouched || !commands.retract(device));
    if (!isOwed) {
      record.job = null;
      if (!isAsked && record.writes === 0) normal(record);
      return;
    }
    record.isTouched = true;
    if ((job && !record.sent) || retryAt > now()) return;
    record.sent = null;
    if (!isAsked) change(record, 'restoring');
    this.#lead(record, restore, (status, reason) => {
      if (status === 'timeout') return this.#silent(record, reason);
      if (status === 'taken') {
        record.isTouched = false;
        restored(record);
        return this.apply(record);
      }
      // It is tried again when the device connects.
      record.retryAt = Infinity;
      change(record, 'refused', `The device refused its normal rate. ${reason}`.trim());
      unrestored(device, reason);
    });
  }

  /**
   * @param {Device} record
   * @param {{ device: string, topic: string, payload: Buffer }} command
   * @param {(status: 'taken' | 'refused' | 'timeout', reason: string) => void} ended called unless another one was sent
   */
  #lead(record, command, ended) {
    const job = {};
    record.job = job;
    const isRate = record.sent !== null;
    this.#parts.commands.lead(command, {
      doubted: () => void (record.isTouched = true),
      ended: (status, reason) => {
        if (isRate && status !== 'refused') record.isTouched = true;
        if (record.job !== job || this.#isClosed) return;
        record.job = null;
        ended(status, reason);
      }
    });
  }

  /** @param {Device} record @param {string} reason */
  #silent(record, reason) {
    const { now, wakeAt, change } = this.#parts;
    record.retryAt = now() + RETRY_MS;
    wakeAt(record.retryAt);
    change(record, 'silent', reason);
  }
}

exports.Rates = Rates;
