'use strict';
// Measures the formats of envelopes: bytes of the payload, and CPU time to encode and to decode, each per record.
//   node native/node/run.js bench/questions/formats.js [--records 20] [--rounds 9] [--batches 500]
// "alone" is what single records have: topic and payload. The CPU time of encoding is that of the PUBLISH writer, of
// decoding that of the unbatch node's reader in JavaScript. Each is the median of rounds that take turns.
// For Sparkplug, encoding includes the division by devices. Births are sent before, and are not measured.

const { parseArgs } = require('node:util');
const { PublishWriter } = require('../../native');
const { SparkplugMessages } = require('../../nodes/lib/unbatch/sparkplug-messages');
const { readEnvelope } = require('../../nodes/lib/unbatch/unbatch');
const { divide, readPieces } = require('../../nodes/lib/uplink/sending/envelope-pieces');
const { markdown } = require('../report/report');

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '9' },
    batches: { type: 'string', default: '500' }
  }
});
const records = Number(values.records);
const rounds = Number(values.rounds);
const batches = Number(values.batches);

/** @typedef {NonNullable<import('../../native').PublishStage['format']>} Format */
/** @type {readonly Format[]} */
const FORMATS = ['ndjson', 'json', 'cbor', 'senml-json', 'senml-cbor', 'sparkplug'];
const CLASSES = 9;
const TOPIC = Array.from({ length: CLASSES }, () => [Buffer.from('gw/pi-1/normal')]);
/** The head of a batch as take() of UplinkSource gives it: class 3, kind envelope, epoch, sequence. */
const META = Float64Array.of(1, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1763712000123 * 1024, 10423, 0, 0);
const START = 1763712000123;

/** @param {number} i @param {number} size @param {number} middle @param {number} digits */
const wave = (i, size, middle, digits) => Number((middle + size * Math.sin(i * 1.7)).toFixed(digits));
/** @param {number} i @param {number} length */
const hex = (i, length) => ((i * 2654435761) % 2 ** 32).toString(16).padStart(length, '0');

/** @type {Record<string, (i: number) => { device: string, topic: string, payload: unknown }>} */
const SHAPES = {
  'flat JSON': (i) => ({
    device: `meter-${i % 50}`,
    topic: `hall/meter-${i % 50}`,
    payload: { temperature: wave(i, 5, 21, 2), humidity: wave(i, 20, 50, 1), ok: true, battery: 90 - (i % 9) }
  }),
  'Shelly status': (i) => ({
    device: `shellyplus1pm-${hex(i % 50, 12)}`,
    topic: `shellyplus1pm-${hex(i % 50, 12)}/status/switch:0`,
    payload: {
      id: 0,
      source: 'mqtt',
      output: i % 2 === 0,
      apower: wave(i, 40, 60, 1),
      voltage: wave(i, 3, 230, 1),
      current: wave(i, 0.2, 0.3, 3),
      aenergy: { total: wave(i, 9, 11.679, 3) },
      temperature: { tC: wave(i, 4, 37, 1), tF: wave(i, 7, 99, 1) }
    }
  }),
  'ChirpStack uplink': (i) => ({
    device: hex(i % 50, 16),
    topic: `application/1/device/${hex(i % 50, 16)}/event/up`,
    payload: {
      deduplicationId: `${hex(i, 8)}-7d4e-4c8f-9a6e-${hex(i * 7, 12)}`,
      time: new Date(START + i * 50).toISOString(),
      deviceInfo: {
        tenantId: '52f14cd4-c6f1-4fbd-8f87-4025e1d49242',
        tenantName: 'ChirpStack',
        applicationId: '17c82e96-be03-4f38-aef3-f83d48582d97',
        applicationName: 'Hall climate',
        deviceProfileName: 'Milesight EM300-TH',
        deviceName: `em300-${i % 50}`,
        devEui: hex(i % 50, 16)
      },
      devAddr: hex(i % 50, 8),
      adr: true,
      dr: 5,
      fCnt: 1000 + i,
      fPort: 85,
      confirmed: false,
      data: Buffer.from(hex(i, 14), 'hex').toString('base64'),
      object: { temperature: wave(i, 5, 21, 1), humidity: wave(i, 20, 50, 1), battery: 92 },
      rxInfo: [
        { gatewayId: '0016c001ff10a235', rssi: -60 - (i % 40), snr: wave(i, 5, 7, 1), channel: i % 8 }
      ],
      txInfo: { frequency: 868100000 + (i % 8) * 200000 }
    }
  }),
  'SenML pack': (i) => ({
    device: `node-${i % 50}`,
    topic: `senml/node-${i % 50}`,
    payload: [
      { bn: `urn:dev:ow:10e2073a0108${hex(i % 50, 4)}:`, n: 'temp', u: 'Cel', v: wave(i, 5, 21, 1) },
      { n: 'hum', u: '%RH', v: wave(i, 20, 50, 1) }
    ]
  }),
  '20 random bytes': (i) => ({
    device: `pulse-${i % 50}`,
    topic: `pulse/${i % 50}`,
    payload: Buffer.from(hex(i, 40).slice(0, 40), 'hex')
  })
};

/** @param {(typeof SHAPES)[string]} shape @param {number} batch @returns {{ lines: Buffer, alone: number }} */
function batchOf(shape, batch) {
  let alone = 0;
  const lines = Array.from({ length: records }, (_, each) => {
    const i = batch * records + each;
    const { device: d, topic: t, payload } = shape(i);
    const isBytes = Buffer.isBuffer(payload);
    alone += Buffer.byteLength(t) + (isBytes ? payload.length : Buffer.byteLength(JSON.stringify(payload)));
    const carried = isBytes ? { b: payload.toString('base64') } : { p: payload };
    return `${JSON.stringify({ d, t, ts: START + i * 3, s: i % 100000, c: 3, ...carried })}\n`;
  });
  return { lines: Buffer.from(lines.join('')), alone };
}

/** @param {Format} format */
function writerOf(format) {
  const writer = new PublishWriter();
  const names = { keyRaw: Buffer.from('pi-1'), keyJson: Buffer.from('pi-1'), historySuffix: Buffer.alloc(0) };
  writer.setStages([{ id: 1, topic: TOPIC, recordTopic: TOPIC, qos: 0, history: 'none', ...names, format }]);
  writer.setLink(false, true);
  return writer;
}

/** @param {PublishWriter} writer @param {Buffer} lines @returns {Buffer} payload of the PUBLISH, MQTT 3.1.1 */
function encoded(writer, lines) {
  const packet = Buffer.alloc(writer.prepare(1, lines, META, 0, lines.length, -1));
  writer.write(packet, 0, 0, false);
  let at = 1;
  while (packet[at++] & 0x80); // [MQTT 2.2.3] the remaining length
  return packet.subarray(at + 2 + packet.readUInt16BE(at));
}

/**
 * Encodes as data of an edge node.
 * @param {PublishWriter} writer
 * @param {Buffer} lines
 * @returns {Buffer[]} packets, MQTT 3.1.1
 */
function divided(writer, lines) {
  const bytes = Buffer.from(lines);
  const [whole] = readPieces(bytes, 0, bytes.length);
  const numbers = Array.from({ length: whole.end }, (_, i) => i);
  return divide(bytes, whole, numbers).map(({ from, to, number }) => {
    const packet = Buffer.allocUnsafe(writer.prepare(1, bytes, META, from, to, number));
    births.push(writer.births() ?? Buffer.alloc(0));
    writer.write(packet, 0, 0, false);
    return packet;
  });
}

/** Packets of births. @type {Buffer[]} */
const births = [];

/** @param {Buffer} packet at QoS 0, MQTT 3.1.1 @returns {{ topic: string, payload: Buffer, next: number }} */
function messageIn(packet) {
  let at = 1;
  let remaining = 0;
  for (let shift = 0, byte = 0x80; byte & 0x80; shift += 7) {
    byte = packet[at++];
    remaining |= (byte & 0x7f) << shift; // [MQTT 2.2.3]
  }
  const topicEnd = at + 2 + packet.readUInt16BE(at);
  const next = at + remaining;
  return { topic: packet.toString('utf8', at + 2, topicEnd), payload: packet.subarray(topicEnd, next), next };
}

/**
 * The format as the others, for the loop below.
 * @param {ReturnType<typeof batchOf>[]} all
 */
function sparkplug(all) {
  const writer = writerOf('sparkplug');
  writer.setEdgeNode('plant', 'pi-1');
  writer.beginEdgeNode(0, false, 0);
  births.length = 0;
  // Twice, so that all metrics and types are known.
  for (const { lines } of all) divided(writer, lines);
  const messages = all.map(({ lines }) => divided(writer, lines).map((packet) => messageIn(packet)));
  const unbatch = new SparkplugMessages();
  for (let rest = Buffer.concat(births); rest.length > 0;) {
    const birth = messageIn(rest);
    unbatch.open(birth);
    rest = rest.subarray(birth.next);
  }
  return {
    bytes: messages.flat().reduce((sum, { payload }) => sum + payload.length, 0) / (all.length * records),
    encode: () => {
      births.length = 0;
      for (const { lines } of all) divided(writer, lines);
    },
    decode: () => {
      for (const each of messages) for (const message of each) unbatch.open(message);
    }
  };
}

/** @param {Format} format @param {ReturnType<typeof batchOf>[]} all */
function envelopes(format, all) {
  const writer = writerOf(format);
  const payloads = all.map(({ lines }) => Buffer.from(encoded(writer, lines)));
  return {
    bytes: payloads.reduce((sum, each) => sum + each.length, 0) / (all.length * records),
    encode: () => {
      for (const { lines } of all) writer.prepare(1, lines, META, 0, lines.length, -1);
    },
    decode: () => {
      for (const payload of payloads) readEnvelope(payload);
    }
  };
}

/** @param {() => void} work @returns {number} CPU µs of this process per record */
function cpuOf(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (batches * records);
}

/** @param {number[]} list */
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
/** @param {number} value */
const shown = (value) => value.toFixed(value < 10 ? 2 : 0);

const rows = Object.entries(SHAPES).flatMap(([name, shape]) => {
  const all = Array.from({ length: batches }, (_, batch) => batchOf(shape, batch));
  const measured = FORMATS.map((format) => {
    const made = format === 'sparkplug' ? sparkplug(all) : envelopes(format, all);
    return { format, made, encode: /** @type {number[]} */ ([]), decode: /** @type {number[]} */ ([]) };
  });
  for (let round = 0; round < rounds; round++)
    for (const each of measured) {
      each.encode.push(cpuOf(each.made.encode));
      each.decode.push(cpuOf(each.made.decode));
    }
  const alone = all.reduce((sum, each) => sum + each.alone, 0) / (batches * records);
  const plain = measured[0].made.bytes;
  return measured.map(({ format, made: { bytes }, encode, decode }) => [
    format === 'ndjson' ? `${name}, alone ${shown(alone)}` : '',
    format,
    shown(bytes),
    shown(bytes / plain),
    shown(median(encode)),
    shown(median(decode))
  ]);
});
const head = ['payload', 'format', 'bytes', 'of NDJSON', 'encode µs', 'decode µs'];
console.log(`${records} records an envelope, each figure per record, ${rounds} rounds\n`);
console.log(markdown(head, rows));
