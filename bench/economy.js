'use strict';

// Prints the cost of a record on the uplink: IP bytes, and CPU time of the thread that writes the packets.
//   node bench/economy.js
// The packets are those of the uplink's own writer, with MQTT 5. IP bytes count for each packet 52 bytes of IPv4 and
// TCP with timestamps, and 22 of TLS 1.3, in both directions: PUBLISH and PUBACK, each in a segment of its own, and no
// separate TCP acknowledgement. Larger packets take a segment for each 1,448 bytes. "Unbatched" is MQTT QoS 1 with the
// record's own topic and no properties, as a bridge sends it.

const { createHash } = require('node:crypto');
const { PublishWriter } = require('../native');

const RECORDS = 20000;
const BATCHES = [1, 5, 20, 100];
const SEGMENT_BYTES = 1448;
const TCP_IP_BYTES = 52;
const TLS_BYTES = 22;
const PUBACK_BYTES = 4;
const ENVELOPE = 1;
const HASH_BYTES = 8;
const WARM_LINES = 80;

let seed = 1;
/** Returns a pseudo-random whole number below `n`. @param {number} n */
function random(n) {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
}

/** Records by shape: topic and payload of one device. @type {Record<string, (i: number) => [string, object]>} */
const SHAPES = {
  Shelly: (i) => [
    `shellies/plug-${i % 50}/status/switch:0`,
    {
      ...{ id: 0, source: 'timer', output: random(2) === 0, apower: random(20000) / 10 },
      ...{ voltage: 228 + random(50) / 10, current: random(900) / 1000 },
      ...{ aenergy: { total: 1000 + i, by_minute: [random(999), random(999)] } },
      temperature: { tC: 35 + random(100) / 10 }
    }
  ],
  ChirpStack: (i) => [
    `application/7/device/a84041000181${1000 + (i % 50)}/event/up`,
    {
      deduplicationId: createHash('sha256').update(String(i)).digest('hex').slice(0, 32),
      time: new Date(1763712000000 + i * 731).toISOString(),
      deviceInfo: {
        ...{ tenantId: '52f14cd4-c6f1-4fbd-8f87-4025e1d49242', tenantName: 'farm', applicationId: '7' },
        ...{ applicationName: 'soil', deviceProfileName: 'LSE01', devEui: `a84041000181${1000 + (i % 50)}` }
      },
      ...{ devAddr: '01d3a2f1', adr: true, dr: 5, fCnt: i, fPort: 2, confirmed: false },
      data: Buffer.from(Array.from({ length: 11 }, () => random(256))).toString('base64'),
      object: { conductivity: random(500), moisture: random(1000) / 10, temperature: random(400) / 10 },
      rxInfo: [
        { gatewayId: '0016c001f153a14c', rssi: -60 - random(60), snr: random(150) / 10, channel: random(8) }
      ],
      txInfo: {
        frequency: 868100000 + 200000 * random(8),
        modulation: { lora: { bandwidth: 125000, spreadingFactor: 7 } }
      }
    }
  ],
  SenML: (i) => [
    `senml/${i % 50}`,
    [
      { bn: `urn:dev:mac:0024befffe80${4000 + (i % 50)}:`, n: 'temp', u: 'Cel', v: 20 + random(100) / 10 },
      { n: 'hum', u: '%RH', v: random(1000) / 10 }
    ]
  ]
};

/** @param {number} packet bytes of the PUBLISH */
function ipBytes(packet) {
  const segments = Math.ceil((packet + TLS_BYTES) / SEGMENT_BYTES);
  return packet + TLS_BYTES + segments * TCP_IP_BYTES + PUBACK_BYTES + TLS_BYTES + TCP_IP_BYTES;
}

const topicOf = (/** @type {any[]} */ ...parts) => Array.from({ length: 9 }, () => parts);

/** @param {'off' | 'zstd' | 'deflate'} compress */
function writerOf(compress) {
  const writer = new PublishWriter();
  const gateway = Buffer.from('pi-1');
  writer.setStages([
    {
      ...{ id: 1, topic: topicOf(Buffer.from('gw/pi-1/normal')), recordTopic: topicOf('topic'), qos: 1 },
      ...{ keyRaw: gateway, keyJson: gateway, history: 'none', historySuffix: Buffer.from('/h'), compress }
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

function main() {
  console.log('| shape | records a batch | encoding | IP bytes a record | of unbatched | CPU µs a record |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const [shape, make] of Object.entries(SHAPES)) {
    const records = Array.from({ length: RECORDS + WARM_LINES }, (_, i) => make(i));
    const lines = records.map(([topic, payload], i) => {
      const head = {
        d: `device-${i % 50}`,
        t: topic,
        ts: 1763712000000 + i * 10,
        s: Math.floor(i / 50),
        c: 3
      };
      return `${JSON.stringify({ ...head, p: payload })}\n`;
    });
    const dictionary = Buffer.from(lines.slice(0, WARM_LINES).join('')).subarray(-32768);
    const used = records.slice(WARM_LINES);
    const plain = used.map(([topic, payload]) =>
      ipBytes(2 + 2 + topic.length + 2 + 1 + JSON.stringify(payload).length + 1)
    );
    const unbatched = plain.reduce((a, b) => a + b, 0) / used.length;
    console.log(`| ${shape} | 1 | unbatched | ${unbatched.toFixed(0)} | 1.00 | |`);
    for (const size of BATCHES) {
      const envelopes = Array.from({ length: Math.floor(RECORDS / size) }, (_, i) =>
        Buffer.from(lines.slice(WARM_LINES + i * size, WARM_LINES + (i + 1) * size).join(''))
      );
      /** @type {[string, 'off' | 'zstd' | 'deflate', Buffer | null][]} */
      const rows = [
        ['NDJSON', 'off', null],
        ['deflate', 'deflate', null],
        ['zstd', 'zstd', null],
        ['deflate + dictionary', 'deflate', dictionary],
        ['zstd + dictionary', 'zstd', dictionary]
      ];
      for (const [name, compress, content] of rows) {
        const { bytes, micros } = measure(envelopes, compress, content);
        const [each, cost] = [bytes, micros].map((sum) => sum / (envelopes.length * size));
        const ratio = (each / unbatched).toFixed(2);
        console.log(`| ${shape} | ${size} | ${name} | ${each.toFixed(0)} | ${ratio} | ${cost.toFixed(1)} |`);
      }
    }
  }
}

main();
