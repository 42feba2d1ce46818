'use strict';
// Writes packets with the uplink's own writer and counts their bytes. No sockets.

const { createHash } = require('node:crypto');
const { PublishWriter } = require('../../native');
const { markdown } = require('../report/report');
const { DEVICES, SHAPES, recordsOf } = require('./shapes');

const RECORDS = 20000;
const BATCHES = [1, 5, 20, 100];
const SEGMENT_BYTES = 1448;
const TCP_IP_BYTES = 52;
const TLS_BYTES = 22;
const PUBACK_BYTES = 4;
const ENVELOPE = 1;
const HASH_BYTES = 8;
const WARM_LINES = 80;

/** Returns the IP bytes of a PUBLISH and its PUBACK. @param {number} packet bytes of the PUBLISH */
function ipBytes(packet) {
  const segments = Math.ceil((packet + TLS_BYTES) / SEGMENT_BYTES);
  return packet + TLS_BYTES + segments * TCP_IP_BYTES + PUBACK_BYTES + TLS_BYTES + TCP_IP_BYTES;
}

/** Returns the mean IP bytes of records that are not batched. @param {[string, object][]} records */
function unbatchedBytes(records) {
  const all = records.map(([topic, payload]) =>
    ipBytes(2 + 2 + topic.length + 2 + 1 + JSON.stringify(payload).length + 1)
  );
  return all.reduce((a, b) => a + b, 0) / all.length;
}

const topicOf = (/** @type {any[]} */ ...parts) => Array.from({ length: 9 }, () => parts);

/** @param {'off' | 'zstd' | 'deflate'} compress */
function writerOf(compress) {
  const writer = new PublishWriter();
  const gateway = Buffer.from('pi-1');
  writer.setStages([
    {
      id: 1,
      topic: topicOf(Buffer.from('gw/pi-1/normal')),
      recordTopic: topicOf('topic'),
      qos: 1,
      keyRaw: gateway,
      keyJson: gateway,
      history: 'none',
      historySuffix: Buffer.from('/h'),
      compress
    }
  ]);
  writer.setLink(true, true);
  return writer;
}

const meta = (/** @type {number} */ sequence) =>
  Float64Array.of(1, 3, 1, 1, ENVELOPE, 0, 0, 0, 0, 0, 0, 0, 1806041088126029, sequence, 0, 0);

/**
 * @param {Buffer[]} envelopes
 * @param {'off' | 'zstd' | 'deflate'} compress
 * @param {Buffer | null} dictionary
 */
function measure(envelopes, compress, dictionary) {
  const writer = writerOf(compress);
  if (dictionary) {
    const hash = createHash('sha256').update(dictionary).digest().subarray(0, HASH_BYTES);
    writer.setDictionary(1, hash, dictionary);
  }
  const out = Buffer.alloc(1 << 20);
  let bytes = 0;
  const cpu = process.cpuUsage();
  for (const [i, envelope] of envelopes.entries()) {
    bytes += ipBytes(writer.prepare(1, envelope, meta(i), 0, envelope.length, -1));
    writer.write(out, 0, 1, false);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { bytes, micros: user + system };
}

/** @param {[string, object]} record @param {number} i */
function lineOf([topic, payload], i) {
  const head = {
    d: `device-${i % DEVICES}`,
    t: topic,
    ts: 1763712000000 + i * 10,
    s: Math.floor(i / DEVICES),
    c: 3
  };
  return `${JSON.stringify({ ...head, p: payload })}\n`;
}

/** Returns the rows of a shape. @param {string} shape */
function rowsOf(shape) {
  const records = recordsOf(shape, RECORDS + WARM_LINES);
  const lines = records.map(lineOf);
  const dictionary = Buffer.from(lines.slice(0, WARM_LINES).join('')).subarray(-32768);
  const unbatched = unbatchedBytes(records.slice(WARM_LINES));
  const rows = [[shape, 1, 'unbatched', unbatched.toFixed(0), '1.00', '']];
  for (const size of BATCHES) {
    const envelopes = Array.from({ length: Math.floor(RECORDS / size) }, (_, i) =>
      Buffer.from(lines.slice(WARM_LINES + i * size, WARM_LINES + (i + 1) * size).join(''))
    );
    /** @type {[string, 'off' | 'zstd' | 'deflate', Buffer | null][]} */
    const encodings = [
      ['NDJSON', 'off', null],
      ['deflate', 'deflate', null],
      ['zstd', 'zstd', null],
      ['deflate + dictionary', 'deflate', dictionary],
      ['zstd + dictionary', 'zstd', dictionary]
    ];
    for (const [name, compress, content] of encodings) {
      const { bytes, micros } = measure(envelopes, compress, content);
      const [each, cost] = [bytes, micros].map((sum) => sum / (envelopes.length * size));
      rows.push([shape, size, name, each.toFixed(0), (each / unbatched).toFixed(2), cost.toFixed(1)]);
    }
  }
  return rows;
}

/** Prints the table of all shapes. */
function printPackets() {
  const head = [
    'shape',
    'records a batch',
    'encoding',
    'IP bytes a record',
    'of unbatched',
    'CPU µs a record'
  ];
  console.log(markdown(head, Object.keys(SHAPES).flatMap(rowsOf)));
}

module.exports = { printPackets, unbatchedBytes };
