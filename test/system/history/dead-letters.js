'use strict';
// Reads the gateway's dead letters as docs/reference/log-format.md describes them, with a separate decoder: a letter
// that the gateway wrote wrongly would be no outcome.

const fs = require('node:fs');
const path = require('node:path');
const { readPublish } = require('./devices/reading');

const HEADER = 32;
const ENTRY = 56;

/**
 * The records of one chunk body.
 * @param {Buffer} body
 * @returns {import('./history').RecordName[]}
 */
function recordsOf(body) {
  if (body.toString('latin1', 0, 4) !== 'SGC1') throw new Error('a dead letter is not a chunk');
  const batches = body.readUInt16LE(6);
  const records = [];
  let at = HEADER;
  for (let i = 0; i < batches; i += 1) {
    const length = body.readUInt32LE(at + 40);
    const topicLength = body.readUInt16LE(at + 44);
    const deviceLength = body.readUInt16LE(at + 46);
    const kind = body[at + 48];
    const bytes = body.subarray(at + ENTRY, at + ENTRY + length);
    records.push(...read[kind](bytes, deviceLength, topicLength));
    at += ENTRY + length;
  }
  return records;
}

/** @param {string} topic @param {Buffer} payload */
const records = (topic, payload) =>
  readPublish(/** @type {any} */ ({ topic, payload })).records.map(({ device, class: recordClass, n }) => ({
    device,
    class: recordClass,
    n
  }));

/** By kind, as UplinkSource.take gives them: one record, an envelope, records. @type {((bytes: Buffer, deviceLength: number, topicLength: number) => import('./history').RecordName[])[]} */
const read = [
  (bytes, deviceLength, topicLength) => {
    const topicEnd = deviceLength + topicLength;
    return records(bytes.toString('utf8', deviceLength, topicEnd), bytes.subarray(topicEnd));
  },
  (bytes) => records('gw/', bytes),
  (bytes) => {
    const found = [];
    for (let at = 0; at < bytes.length;) {
      const device = bytes[at + 1] + 1;
      const topic = bytes.readUInt16LE(at + 2);
      const payload = bytes.readUInt32LE(at + 4);
      const start = at + 8 + device;
      found.push(
        ...records(
          bytes.toString('utf8', start, start + topic),
          bytes.subarray(start + topic, start + topic + payload)
        )
      );
      at = start + topic + payload;
    }
    return found;
  }
];

/**
 * @param {string} logFolder of a gateway that has ended
 * @returns {{dead: import('./history').RecordName[], quarantined: number, problems: string[]}}
 */
function readDeadLetters(logFolder) {
  const result = { dead: /** @type {any[]} */ ([]), quarantined: 0, problems: /** @type {string[]} */ ([]) };
  const file = path.join(logFolder, 'log.db');
  if (!fs.existsSync(file)) return result;
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(file);
  try {
    for (const { body } of database.prepare('SELECT body FROM dead ORDER BY id').all()) {
      result.dead.push(...recordsOf(Buffer.from(/** @type {Uint8Array} */ (body))));
    }
    const [{ n }] = /** @type {any[]} */ (database.prepare('SELECT count(*) AS n FROM quarantine').all());
    result.quarantined = n;
    const [{ integrity_check: integrity }] = /** @type {any[]} */ (
      database.prepare('PRAGMA integrity_check').all()
    );
    if (integrity !== 'ok') result.problems.push(`integrity_check says ${integrity}`);
  } catch (error) {
    result.problems.push(/** @type {Error} */ (error).message);
  } finally {
    database.close();
  }
  return result;
}

module.exports = { readDeadLetters };
