'use strict';
// What a peer sends that is not trusted reaches mqtt.js whole, and within limits.

const mqttPacket = require('mqtt-packet');
const { PacketGate } = require('../../../nodes/lib/uplink/session/packet-gate');

const MAX = 400;

/** @param {number} size of the whole packet @param {0 | 1 | 2} [qos] */
function publish(size, qos = 0) {
  const packet = { cmd: 'publish', topic: 't', qos, messageId: 1, dup: false, retain: false, payload: '' };
  const at = mqttPacket.generate(/** @type {any} */ ({ ...packet, payload: Buffer.alloc(128) })).length - 128;
  const made = mqttPacket.generate(
    /** @type {any} */ ({ ...packet, payload: Buffer.alloc(size - at, size) })
  );
  if (made.length !== size) throw new Error(`${made.length} bytes, not ${size}`);
  return made;
}

/** @param {Buffer[]} chunks @returns {Promise<{ pieces: Buffer[], problem: string, code?: string }>} */
async function send(chunks) {
  const gate = new PacketGate(MAX);
  /** @type {Buffer[]} */
  const pieces = [];
  gate.on('data', (piece) => pieces.push(piece));
  const ended = new Promise((resolve) => {
    gate.on('end', () => resolve({ problem: '' }));
    gate.on('error', ({ message, code }) => resolve({ problem: message, code }));
  });
  for (const chunk of chunks) gate.write(chunk);
  gate.end();
  return { pieces, ...(await ended) };
}

const few = [
  publish(MAX),
  Buffer.from([0xd0, 0]),
  publish(200, 1),
  Buffer.from([0x40, 2, 0, 7]),
  publish(MAX - 1)
];

test('passes on packets whole, however they are split', async () => {
  const all = Buffer.concat(few);
  expect((await send([all])).pieces).toEqual([all]);
  for (let cut = 1; cut < all.length; cut++) {
    const { pieces, problem } = await send([all.subarray(0, cut), all.subarray(cut)]);
    expect(problem).toBe('');
    expect(Buffer.concat(pieces).equals(all)).toBe(true);
    // Each piece ends where a packet ends.
    const ends = few.map((_, i) => Buffer.concat(few.slice(0, i + 1)).length);
    let at = 0;
    for (const piece of pieces) expect(ends).toContain((at += piece.length));
  }
  const bytes = await send([...all].map((byte) => Buffer.from([byte])));
  expect(bytes.pieces).toEqual(few);
});

test('passes on nothing of a packet that is incomplete', async () => {
  expect(await send([publish(300).subarray(0, 299)])).toEqual({ pieces: [], problem: '' });
  expect(await send([Buffer.from([0x30, 0x80])])).toEqual({ pieces: [], problem: '' });
  expect(await send([])).toEqual({ pieces: [], problem: '' });
});

test.each([
  [
    'of 256 MiB',
    [0x30, 0xff, 0xff, 0xff, 0x7f],
    'a packet of 268435460 bytes; this client accepts 400 at most'
  ],
  ['of one byte too many', [...publish(MAX + 1).subarray(0, 3)], 'a packet of 401 bytes'],
  ['with QoS 2', [...publish(200, 2)], 'QoS 2'],
  ['with QoS 3', [0x36, 2, 0, 0], 'QoS 2'],
  ['with an endless length', [0xd0, 0xff, 0xff, 0xff, 0xff], 'not MQTT']
])('ends at the head of a packet %s', async (_name, head, sentence) => {
  const before = publish(200);
  for (const chunks of [
    [Buffer.concat([before, Buffer.from(head)])],
    [before, ...head.map((byte) => Buffer.from([byte]))]
  ]) {
    const { problem, code } = await send(chunks);
    expect(problem).toContain(sentence);
    expect(code).toBe('PACKET_REFUSED');
  }
});
