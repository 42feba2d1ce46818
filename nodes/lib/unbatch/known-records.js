'use strict';
// Recognizes copies of records whoever sends them: in a cluster, another gateway may send records again, in batches of
// its own. A record is known by its device, class, time and number (docs/reference/messages.md). The keys are in the
// memory that those of the batches are in.

const { createHash } = require('node:crypto');

/** In the place of a gateway's epoch. No gateway has begun in the first minute of 1970. */
const EPOCH = 'r';

/**
 * @typedef {import('./record-key').Key} Key
 * @typedef {import('./unbatch').EnvelopeRecord} EnvelopeRecord
 * @typedef {(error?: Error) => void} Done
 */

class KnownRecords {
  #seen;
  #repeat;
  /** The batch of each record that is still in the flow. @type {Map<string, Key>} by the key of the record */
  #open = new Map();

  /**
   * @param {import('./key-window').KeyWindow} seen
   * @param {(batch: Key, done: Done) => void} repeat calls `done` with the end of a batch that is still in the flow
   */
  constructor(seen, repeat) {
    this.#seen = seen;
    this.#repeat = repeat;
  }

  /**
   * Separates records that have not arrived before, and remembers them.
   * @param {EnvelopeRecord[]} records
   * @returns {{ fresh: EnvelopeRecord[], keys: Key[], batches: Set<Key> }} keys: of the fresh ones; batches: still in
   *   the flow, with the others
   */
  take(records) {
    /** @type {{ fresh: EnvelopeRecord[], keys: Key[], batches: Set<Key> }} */
    const taken = { fresh: [], keys: [], batches: new Set() };
    for (const record of records) {
      const key = keyOf(record);
      if (key && this.#seen.has(key, 1)) {
        const batch = this.#open.get(key.key);
        if (batch) taken.batches.add(batch);
        continue;
      }
      taken.fresh.push(record);
      if (!key) continue;
      this.#seen.add(key, 1);
      taken.keys.push(key);
    }
    return taken;
  }

  /**
   * The records are in the flow with a batch.
   * @param {Key[]} keys
   * @param {Key} batch
   * @returns {(isDelivered: boolean) => void} to be called once, when the flow has ended with them
   */
  open(keys, batch) {
    for (const { key } of keys) this.#open.set(key, batch);
    return (isDelivered) => {
      for (const key of keys) {
        this.#open.delete(key.key);
        if (!isDelivered) this.#seen.remove(key);
      }
    };
  }

  /** Calls `done` when all of these batches have ended. @param {Set<Key>} batches @param {Done} done */
  await(batches, done) {
    let left = batches.size;
    /** @type {Error | undefined} */
    let failure;
    if (left === 0) return done();
    for (const batch of batches)
      this.#repeat(batch, (error) => {
        failure ??= error;
        if (--left === 0) done(failure);
      });
  }
}

/** @param {EnvelopeRecord} record @returns {Key | null} null: its time is none that a gateway gives */
function keyOf({ deviceId, priority, ts, seq }) {
  if (!Number.isSafeInteger(ts) || ts < 0) return null;
  const gateway = createHash('sha1').update(deviceId).digest('hex');
  const key = `${gateway}/${EPOCH}/${priority}/${ts}.${seq}`;
  return { key, gateway, epoch: EPOCH, lane: priority, sequence: ts, part: seq };
}

exports.KnownRecords = KnownRecords;
