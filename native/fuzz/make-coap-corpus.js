'use strict';
// Writes the seeds of the CoAP fuzzers: node native/fuzz/make-coap-corpus.js
// Streams end with two bytes that coap_stream_fuzz.cc reads as its mode; "forward" ones are inputs of
// coap_forward_fuzz.cc; the others are the steps of coap_datagram_fuzz.cc.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.join(__dirname, 'corpus', 'coap');

/** @typedef {[number, string | number[]]} Option */

/** @param {number} value @param {number[]} more */
function nibble(value, more) {
  if (value < 13) return value;
  if (value < 269) {
    more.push(value - 13);
    return 13;
  }
  more.push((value - 269) >> 8, (value - 269) & 255);
  return 14;
}

/** @param {Option[]} options @param {string | number[]} payload */
function body(options, payload) {
  /** @type {Buffer[]} */
  const parts = [];
  let last = 0;
  for (const [number, value] of options) {
    const bytes = Buffer.from(/** @type {any} */ (value));
    /** @type {number[]} */
    const more = [];
    const first = (nibble(number - last, more) << 4) | nibble(bytes.length, more);
    parts.push(Buffer.from([first, ...more]), bytes);
    last = number;
  }
  if (payload.length > 0) parts.push(Buffer.from([0xff]), Buffer.from(/** @type {any} */ (payload)));
  return Buffer.concat(parts);
}

/** @param {string} text @param {Option[]} more @returns {Option[]} */
const uri = (text, ...more) => [
  ...text.split('/').map((segment) => /** @type {Option} */ ([11, segment])),
  ...more
];

const CON = 0;
const NON = 1;
const ACK = 2;
const RST = 3;
const GET = 1;
const POST = 2;
const PUT = 3;

/** @param {number} type @param {number} code @param {number} id @param {Option[]} options */
const datagram = (type, code, id, options = [], payload = '', token = '') =>
  Buffer.concat([
    Buffer.from([0x40 | (type << 4) | token.length, code, id >> 8, id & 255]),
    Buffer.from(token),
    body(options, payload)
  ]);

/** @param {number} code @param {Option[]} options @param {string | number[]} payload @param {string} token */
function frame(code, options = [], payload = '', token = '') {
  const rest = body(options, payload);
  /** @type {number[]} */
  const more = [];
  const size = nibble(rest.length, more);
  return Buffer.concat([Buffer.from([(size << 4) | token.length, ...more, code]), Buffer.from(token), rest]);
}

/** A step of the datagram fuzzer. @param {number} kind @param {number} number @param {Buffer} [bytes] */
const step = (kind, number, bytes = Buffer.alloc(0)) =>
  Buffer.concat([Buffer.from([kind, number >> 8, number & 255]), bytes]);
/** @param {Buffer} bytes @param {number} [kind] */
const send = (bytes, kind = 0) => step(kind, bytes.length, bytes);
const LATE = 8; // acknowledged by a later step
/** @param {number} index */
const acknowledge = (index) => step(6, index);
/** @param {number} seconds */
const wait = (seconds) => step(5, seconds * 200);
/** @param {number} bytes */
const command = (bytes) => step(7, bytes);

const observe = datagram(CON, GET, 1, [[6, ''], ...uri('cmd/d')], '', 'tok');
const observeOne = datagram(NON, GET, 2, [[6, ''], ...uri('cmd/d/x')], '', 'u');
const block = (/** @type {number} */ id, /** @type {number} */ value, /** @type {number} */ size) =>
  datagram(CON, POST, id, uri('r/d', [27, [value]]), 'x'.repeat(size));

const CSM = frame(0xe1, [
  [2, [4, 0, 0]],
  [4, '']
]);
const post = frame(POST, uri('r/dev/t'), '21.5', 'a');
const mode = (/** @type {number} */ bits) => Buffer.from([7, bits]);

/**
 * The requests of a peer, and the device's answers.
 * @param {number} bits of the mode
 * @param {Buffer[]} asked
 * @param {Buffer[]} given
 */
function forward(bits, asked, given) {
  const answers = Buffer.concat(given);
  return [...asked, answers, Buffer.from([answers.length >> 8, answers.length & 255, bits])];
}
const light = uri('f/d/light', [15, 'if=a'], [17, [60]], [2049, [8, 0]]);
/** @param {number} token @param {Option[]} options */
const given = (token, options) => frame(0x45, options, 'on', String.fromCharCode(token));

/** @type {Record<string, Buffer[]>} */
const seeds = {
  post: [send(datagram(CON, POST, 7, uri('r/d/t', [15, 'c=1']), '21.5', 'tk'))],
  'post-late': [send(datagram(CON, PUT, 7, uri('r/d')), LATE), wait(2), acknowledge(0), wait(9)],
  'post-non': [send(datagram(NON, POST, 7, uri('r', [15, 'd=d'], [258, [2]]), 'x'))],
  refused: [1, 2, 3].map((verdict) => send(datagram(CON, POST, verdict, uri('r/d'), 'x'), verdict)),
  blocks: [send(block(1, 8, 16)), send(block(2, 0x18, 16)), send(block(3, 0x20, 3))],
  'blocks-gap': [send(block(1, 8, 16)), send(block(3, 0x20, 3))],
  observe: [send(observe), send(datagram(ACK, 0, 1)), command(3), wait(120)],
  'observe-two': [send(observe), send(observeOne, 16), command(700), wait(3), send(datagram(RST, 0, 1))],
  'observe-large': [send(observe), wait(100), send(observe), command(4000), wait(200)],
  fetch: [send(datagram(CON, GET, 9, uri('cmd/d', [23, [0x16]])))],
  discovery: [send(datagram(CON, GET, 3, uri('.well-known/core', [17, [40]])))],
  echo: [send(datagram(CON, GET, 3, uri('cmd/d', [252, '12345678'])))],
  ping: [send(datagram(CON, 0, 5)), send(datagram(NON, 0, 6))],
  critical: [send(datagram(CON, POST, 5, uri('r/d', [21, 'x'], [65001, ''])))],
  'bad-token': [send(Buffer.from([0x49, 2, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]))],
  'stream-posts': [CSM, post, frame(0xe2, [[2, '']], '', 'p'), post, frame(0xe4), mode(0)],
  'stream-late': [post, post, frame(0xe4), mode(5)],
  'stream-observe': [frame(GET, [[6, ''], ...uri('cmd/dev')], '', 'o'), frame(0xe3), mode(1)],
  'stream-blocks': [
    frame(POST, uri('r/dev', [27, [0x0f]]), 'x'.repeat(1024)),
    frame(POST, uri('r/dev', [27, [0x17]]), 'y'),
    mode(1)
  ],
  'stream-anonymous': [frame(0xe2, [], '', 'p'), frame(GET, uri('.well-known/core')), post, mode(1)],
  forward: forward(0, [frame(GET, uri('f/d/x', [17, [60]]), '', 'a')], [given(1, [[4, 'e']])]),
  'forward-format': forward(
    3,
    [1, 2, 3].map((number) => frame(POST, [[4, 'e'], ...light], 'on', `t${number}`)),
    [given(2, [[8, 'x'], [12, [0x27, 0x10]], [2053, [8, 0]]]), given(1, [[12, [60]]])] // prettier-ignore
  ),
  'forward-desk': forward(7, [frame(GET, [[6, ''], ...light], '', 'o'), frame(GET, uri('x'), '', 'p')], []),
  'forward-posts': forward(
    8,
    [[1], [0x18, 99], [0x19, 1, 0]].map((value, i) =>
      frame(POST, uri('p/a', [12, [60]], [2049, [8, 0]]), [0xa1, 0x61, 0x74, ...value], `t${i}`)
    ),
    []
  ),
  'stream-no-csm': [post, mode(0)],
  'stream-bad-csm': [frame(0xe1, [[1, '']]), mode(0)],
  'stream-huge': [Buffer.from([0xf0, 255, 255, 255, 255, 2]), mode(3)],
  'stream-http': [Buffer.from('GET / HTTP/1.1\r\nHost: gateway\r\n\r\n'), mode(0)]
};

fs.mkdirSync(folder, { recursive: true });
for (const [name, parts] of Object.entries(seeds)) {
  fs.writeFileSync(path.join(folder, name), Buffer.concat(parts));
}
