'use strict';
// Records of three shapes, reproducible from a seed.

const { createHash } = require('node:crypto');
const { randomOf } = require('../harness/random');

/** Devices that take turns. */
const DEVICES = 50;

/**
 * Topic and payload of a device's record, by shape.
 * @type {Record<string, (i: number, random: (n: number) => number) => [string, object]>}
 */
const SHAPES = {
  Shelly: (i, random) => [
    `shellies/plug-${i % DEVICES}/status/switch:0`,
    {
      id: 0,
      source: 'timer',
      output: random(2) === 0,
      apower: random(20000) / 10,
      voltage: 228 + random(50) / 10,
      current: random(900) / 1000,
      aenergy: { total: 1000 + i, by_minute: [random(999), random(999)] },
      temperature: { tC: 35 + random(100) / 10 }
    }
  ],
  ChirpStack: (i, random) => [
    `application/7/device/a84041000181${1000 + (i % DEVICES)}/event/up`,
    {
      deduplicationId: createHash('sha256').update(String(i)).digest('hex').slice(0, 32),
      time: new Date(1763712000000 + i * 731).toISOString(),
      deviceInfo: {
        tenantId: '52f14cd4-c6f1-4fbd-8f87-4025e1d49242',
        tenantName: 'farm',
        applicationId: '7',
        applicationName: 'soil',
        deviceProfileName: 'LSE01',
        devEui: `a84041000181${1000 + (i % DEVICES)}`
      },
      devAddr: '01d3a2f1',
      adr: true,
      dr: 5,
      fCnt: i,
      fPort: 2,
      confirmed: false,
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
  SenML: (i, random) => [
    `senml/${i % DEVICES}`,
    [
      {
        bn: `urn:dev:mac:0024befffe80${4000 + (i % DEVICES)}:`,
        n: 'temp',
        u: 'Cel',
        v: 20 + random(100) / 10
      },
      { n: 'hum', u: '%RH', v: random(1000) / 10 }
    ]
  ]
};

/** @param {string} shape @param {number} count @param {number} [seed] @returns {[string, object][]} */
function recordsOf(shape, count, seed = 1) {
  const random = randomOf(seed);
  return Array.from({ length: count }, (_, i) => SHAPES[shape](i, random));
}

module.exports = { DEVICES, SHAPES, recordsOf };
