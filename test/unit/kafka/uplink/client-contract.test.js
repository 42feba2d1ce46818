'use strict';
// What the uplink's own producer needs of the client: its connections, its writer, its reader and its sum. A version of
// the client that changes one of them fails here.

const net = require('node:net');
const path = require('node:path');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { isSupported } = require('../../../../nodes/lib/kafka/uplink/client');
const { needs } = require('../../../../bench/harness/tools');

const WORKER = path.join(__dirname, '../../../fixtures/kafka/produce-worker.js');
const { describe } = needs(...(isSupported(process.versions.node) ? [] : ['Node.js 22.22 or 24.6']));
const MESSAGES = [
  { key: 'lamp', value: '21.5', timestamp: 1_790_000_000_000 },
  { key: 'lamp', value: '21.6', timestamp: 1_790_000_000_250 }
];

/** Reads the fields of https://kafka.apache.org/protocol in turn. */
class Fields {
  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  int16() {
    this.at += 2;
    return this.bytes.readInt16BE(this.at - 2);
  }

  int32() {
    this.at += 4;
    return this.bytes.readInt32BE(this.at - 4);
  }

  text() {
    const length = this.int16();
    return length < 0 ? null : this.take(length).toString();
  }

  /** @param {number} length */
  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

/** @param {Buffer} request of Produce, without its length */
function readRequest(request) {
  const fields = new Fields(request);
  const head = {
    key: fields.int16(),
    version: fields.int16(),
    correlation: fields.int32(),
    client: fields.text()
  };
  const body = { transaction: fields.text(), acks: fields.int16(), timeoutMs: fields.int32() };
  const topics = fields.int32();
  const part = { topic: fields.text(), partitions: fields.int32(), partition: fields.int32() };
  const batch = fields.take(fields.int32());
  return { head, body, topics, part, batch, rest: request.length - fields.at };
}

/** Answers a request of version 8. @param {number} correlation @param {number} code */
function answer(correlation, code) {
  const text = (/** @type {string} */ value) => [0, value.length, ...Buffer.from(value)];
  const body = [
    ...[0, 0, 0, 1, ...text('room')],
    ...[0, 0, 0, 1, 0, 0, 0, 3, 0, code, ...Array(24).fill(0)],
    ...[0, 0, 0, 0, ...(code ? text('full') : [255, 255])],
    ...[0, 0, 0, 0]
  ];
  const bytes = Buffer.from([...Array(8).fill(0), ...body]);
  bytes.writeInt32BE(bytes.length - 4, 0);
  bytes.writeInt32BE(correlation, 4);
  return bytes;
}

describe('the client of Kafka', () => {
  /** @type {Worker} */
  let worker;
  /** @type {net.Server} */
  let broker;
  /** @type {(request: Buffer) => Buffer} */
  let respond;
  beforeAll(async () => {
    worker = new Worker(WORKER);
    broker = net.createServer((socket) => {
      let bytes = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
          const end = 4 + bytes.readInt32BE(0);
          socket.write(respond(bytes.subarray(4, end)));
          bytes = bytes.subarray(end);
        }
      });
    });
    await once(broker.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    await worker.terminate();
    broker.close();
  });

  /** Sends one request and answers it. @param {string} compression @param {number} code of the answer */
  async function produce(compression, code) {
    /** @type {ReturnType<typeof readRequest>[]} */
    const requests = [];
    respond = (request) => {
      requests.push(readRequest(request));
      return answer(requests[0].head.correlation, code);
    };
    const { port } = /** @type {net.AddressInfo} */ (broker.address());
    worker.postMessage({ port, compression, messages: MESSAGES });
    const [result] = await once(worker, 'message');
    return { requests, result };
  }

  test('sends a produce request as the uplink writes it, and reads the answer for it', async () => {
    const { requests, result } = await produce('none', 0);
    expect(result).toEqual({ results: new Map([['3 room', { code: 0, detail: null }]]) });
    expect(requests).toHaveLength(1);
    const [{ head, body, topics, part, batch, rest }] = requests;
    expect(head).toMatchObject({ key: 0, version: 8, client: 'contract' });
    expect(body).toEqual({ transaction: null, acks: -1, timeoutMs: 7000 });
    expect({ topics, part, rest }).toEqual({
      topics: 1,
      part: { topic: 'room', partitions: 1, partition: 3 },
      rest: 0
    });
    // https://kafka.apache.org/documentation/#recordbatch: length, version, attributes, number of records.
    expect(batch.readInt32BE(8)).toBe(batch.length - 12);
    expect([batch[16], batch.readInt16BE(21), batch.readInt32BE(57)]).toEqual([2, 0, 2]);
    expect(batch.includes('21.6')).toBe(true);
  });

  test.each([
    ['gzip', 1],
    ['snappy', 2],
    ['lz4', 3],
    ['zstd', 4]
  ])('compresses with %s', async (compression, number) => {
    const { requests, result } = await produce(compression, 0);
    expect(result).toEqual({ results: new Map([['3 room', { code: 0, detail: null }]]) });
    expect(requests[0].batch.readInt16BE(21)).toBe(number);
  });

  test('gives the error of a partition', async () => {
    const { result } = await produce('none', 56);
    expect(result).toEqual({ results: new Map([['3 room', { code: 56, detail: 'full' }]]) });
  });
});
