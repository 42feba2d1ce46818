'use strict';
// Writes a log like the gateway's (docs/reference/log-format.md), much faster than by sending the records.

const fs = require('node:fs');
const path = require('node:path');
const { root } = require('./gateway');

/** The uplink node of flows/gateway.json, to which the chunks belong. */
const uplinkNode = 'seganet-uplink-1';
const chunkBytes = 65536;
const chunkRecords = 256;

/** Loads the modules of the log. Other commands do not need them, and run without Node's SQLite. */
function parts() {
  return {
    ...require(path.join(root, 'nodes/lib/store/log-chunk.js')),
    ...require(path.join(root, 'nodes/lib/store/log-schema.js')),
    DatabaseSync: require('node:sqlite').DatabaseSync
  };
}

/**
 * Returns an envelope line with the record that the load generator would have sent.
 * @param {{device: number, seq: number, kind: number, us: number}} record @param {number} bytes of the payload
 */
function line({ device, seq, kind, us }, bytes) {
  const id = `dev-${String(device).padStart(5, '0')}`;
  const short = `{"device":"${id}","seq":${seq},"k":${kind},"us":${us}`;
  const pad = Math.max(0, bytes - short.length - 10);
  const payload = `${short},"pad":"${'x'.repeat(pad)}"}`;
  const [topic, cls] = kind ? [`d/${id}/alarm`, 1] : [`d/${id}/t`, 3];
  return `{"d":"${id}","t":"${topic}","ts":${Math.round(us / 1000)},"s":${seq},"c":${cls},"p":${payload}}\n`;
}

/** Collects the lines of one class in envelopes, and the envelopes in chunks. */
class Writer {
  /**
   * @param {1 | 3} recordClass @param {() => number} nextSequence
   * @param {number} envelopeBytes @param {(recordClass: number, entries: any[]) => void} write
   */
  constructor(recordClass, nextSequence, envelopeBytes, write) {
    this.recordClass = recordClass;
    this.nextSequence = nextSequence;
    this.envelopeBytes = envelopeBytes;
    this.write = write;
    this.lines = '';
    this.count = 0;
    /** @type {any[]} */
    this.entries = [];
    this.bytes = 0;
    this.records = 0;
  }

  /** @param {string} text @param {number} ts ms */
  add(text, ts) {
    if (this.count > 0 && this.lines.length + text.length > this.envelopeBytes) this.seal(ts);
    this.lines += text;
    this.count += 1;
    if (this.recordClass === 1) this.seal(ts); // class 1 is never batched
  }

  /** @param {number} ts */
  seal(ts) {
    if (this.count === 0) return;
    const bytes = Buffer.from(this.lines);
    const batch = { records: this.count, recordBytes: bytes.length, firstTs: ts, lastTs: ts };
    this.entries.push({ ...batch, sequence: this.nextSequence(), kind: 1, bytes });
    this.bytes += bytes.length;
    this.records += this.count;
    this.lines = '';
    this.count = 0;
    if (this.bytes >= chunkBytes || this.records >= chunkRecords) this.flush();
  }

  flush() {
    if (this.entries.length > 0) this.write(this.recordClass, this.entries);
    this.entries = [];
    this.bytes = 0;
    this.records = 0;
  }
}

/**
 * @param {string} folder of the log
 * @param {{records: number, devices: number, payload: number, alarmEvery: number}} options
 * @returns {import('./compare').SentStream[]} the records in it
 */
function makeLog(folder, { records, devices, payload, alarmEvery }) {
  const { writeChunk, FILE, APPLICATION_ID, USER_VERSION, SCHEMA, DatabaseSync } = parts();
  fs.mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(path.join(folder, FILE));
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;');
  database.exec(`PRAGMA application_id=${APPLICATION_ID}; PRAGMA user_version=${USER_VERSION}; BEGIN`);
  database.exec(SCHEMA);
  const insert = database.prepare(
    'INSERT INTO chunk (node, class, records, bytes, first_ts, last_ts, body) VALUES (?, ?, ?, ?, ?, ?, ?)'
  );
  const startUs = (Date.now() - 3600000) * 1000;
  const epoch = BigInt(Date.now() - 3600000) * 1024n;
  /** @param {number} recordClass @param {any[]} entries */
  const write = (recordClass, entries) => {
    const body = writeChunk(recordClass, epoch, entries);
    const count = entries.reduce((sum, entry) => sum + entry.records, 0);
    const [first, last] = [entries[0].firstTs, entries[entries.length - 1].lastTs];
    insert.run(uplinkNode, recordClass, count, body.length, first, last, body);
  };
  let sequence = 0;
  const next = () => (sequence += 1);
  const writers = [new Writer(3, next, 1024, write), new Writer(1, next, 1024, write)];
  const seqs = Array.from({ length: devices }, () => [0, 0]);
  for (let i = 0; i < records; i += 1) {
    const device = i % devices;
    const turn = Math.floor(i / devices);
    const kind = alarmEvery > 0 && turn % alarmEvery === device % alarmEvery ? 1 : 0;
    const us = startUs + Math.floor((i / records) * 3000e6);
    writers[kind].add(line({ device, seq: seqs[device][kind]++, kind, us }, payload), Math.round(us / 1000));
  }
  for (const writer of writers) {
    writer.seal(Math.round(startUs / 1000) + 3000000);
    writer.flush();
  }
  database.exec('COMMIT');
  database.close();
  return seqs.flatMap((issued, device) =>
    issued.map((count, kind) => ({ device, kind, issued: count, unacked: [] }))
  );
}

module.exports = { makeLog, line };
