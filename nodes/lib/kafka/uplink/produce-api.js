'use strict';
// Produce requests of Kafka's protocol, versions 7 and 8: https://kafka.apache.org/protocol#The_Messages_Produce

const { RecordBatches, recordsOf, seal, withRecords } = require('./record-batch');

/** @typedef {import('./record-batch').Batch} Batch */
/** A partition's records in a request. @typedef {{ topic: string, partition: number, batch: Batch }} Part */
/** Number of an error of a partition, 0 = none. @typedef {{ code: number, detail: string | null }} Result */

const PRODUCE = 0;
/** Kafka 2.1 has version 7. From 8 on, answers have the reason in words. */
const VERSIONS = { least: 7, most: 8 };
const ACKS_ALL = -1;
const NULL = -1;

/** Writes and sends produce requests over connections of the client. */
class ProduceApi {
  /**
   * @param {any} client the client's module
   * @param {{ compression: string, timeoutMs: number }} options timeoutMs: longest wait of the broker for its replicas
   */
  constructor(client, { compression, timeoutMs }) {
    this.client = client;
    this.timeoutMs = timeoutMs;
    this.compression = client.compressionsAlgorithms[compression] ?? null;
    this.batches = new RecordBatches();
    this.version = VERSIONS.most;
  }

  /** Chooses the version. @param {{ apiKey: number, maxVersion: number }[]} apis of the brokers */
  negotiate(apis) {
    const most = apis.find(({ apiKey }) => apiKey === PRODUCE)?.maxVersion ?? VERSIONS.most;
    this.version = Math.min(VERSIONS.most, Math.max(VERSIONS.least, most));
  }

  /** @param {import('./record-writer').Message[]} messages of one partition, in order @returns {Batch} */
  pack(messages) {
    return this.batches.write(messages);
  }

  /**
   * Sends one request, which all in-sync replicas must acknowledge.
   * @param {any} connection of the client
   * @param {Part[]} parts each for another partition
   * @param {(error: unknown, results?: Map<string, Result>) => void} done results by nameOf() the partition
   */
  send(connection, parts, done) {
    const { version } = this;
    const parse = (
      /** @type {number} */ _id,
      /** @type {number} */ _key,
      /** @type {number} */ _version,
      /** @type {any} */ reader
    ) => readAnswer(reader, version);
    connection.send(PRODUCE, version, () => this.#write(parts), parse, false, false, done);
  }

  /** @param {Part[]} parts @returns {any} a writer of the client, or a promise of it */
  #write(parts) {
    const { compression } = this;
    if (!compression) return this.#request(parts, 0);
    if (compression.compress) return this.#compressed(parts);
    for (const part of parts)
      part.batch = withRecords(part.batch, compression.compressSync(recordsOf(part.batch)));
    return this.#request(parts, compression.bitmask);
  }

  /** Compresses in other threads. @param {Part[]} parts */
  async #compressed(parts) {
    const { compression } = this;
    await Promise.all(
      parts.map(async (part) => {
        part.batch = withRecords(part.batch, await compression.compress(recordsOf(part.batch)));
      })
    );
    return this.#request(parts, compression.bitmask);
  }

  /** @param {Part[]} parts @param {number} attributes of the batches */
  #request(parts, attributes) {
    const { Writer, crc32c } = this.client;
    /** @type {Map<string, Part[]>} */
    const topics = new Map();
    for (const part of parts) topics.set(part.topic, [...(topics.get(part.topic) ?? []), part]);
    const writer = Writer.create().appendInt16(NULL).appendInt16(ACKS_ALL).appendInt32(this.timeoutMs);
    writer.appendInt32(topics.size);
    for (const [name, own] of topics) {
      writer.appendString(name, false).appendInt32(own.length);
      for (const { partition, batch } of own) {
        const bytes = seal(batch, attributes, crc32c);
        writer.appendInt32(partition).appendInt32(bytes.length).append(bytes);
      }
    }
    return writer;
  }

  /** Returns the error of a partition, as the client would. @param {Result} result with a code other than 0 */
  errorOf({ code, detail }) {
    const { ProtocolError, protocolErrorsCodesById } = this.client;
    return code in protocolErrorsCodesById
      ? new ProtocolError(code, detail)
      : Object.assign(new Error(`error ${code}`), { apiId: `ERROR_${code}`, apiCode: code });
  }
}

/** @param {string} topic @param {number} partition */
function nameOf(topic, partition) {
  return `${partition} ${topic}`;
}

/**
 * @param {any} reader of the client
 * @param {number} version
 * @returns {Map<string, Result>}
 */
function readAnswer(reader, version) {
  /** @type {Map<string, Result>} */
  const results = new Map();
  for (let topics = reader.readInt32(); topics > 0; topics--) {
    const topic = reader.readString(false);
    for (let partitions = reader.readInt32(); partitions > 0; partitions--) {
      const partition = reader.readInt32();
      const code = reader.readInt16();
      // The offset, the time of the broker and the first offset of its log.
      for (let i = 0; i < 3; i++) reader.readInt64();
      results.set(nameOf(topic, partition), { code, detail: version >= 8 ? readReason(reader) : null });
    }
  }
  // The broker throttles the connection by itself.
  reader.readInt32();
  return results;
}

/** @param {any} reader @returns {string | null} */
function readReason(reader) {
  let reason = null;
  for (let records = reader.readInt32(); records > 0; records--) {
    reader.readInt32();
    const each = reader.readNullableString(false);
    reason ??= each;
  }
  return reader.readNullableString(false) ?? reason;
}

module.exports = { ProduceApi, nameOf, readAnswer };
