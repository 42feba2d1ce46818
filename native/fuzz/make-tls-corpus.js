'use strict';
// Writes the seeds of the TLS fuzzer: node native/fuzz/make-tls-corpus.js
// A seed is a mode and a size of pieces (tls_client_fuzz.cc), then bytes or marks.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.join(__dirname, 'corpus', 'tls');

const RAW = 0;
const BEFORE_START = 1;
const TOUCHED_13 = 2;
const TOUCHED_RETRY = 3;
const TOUCHED_12 = 4;
const TOUCHED_ASKED = 5;
const OPEN_13 = 6;
const OPEN_12 = 7;

/** @param {number} type @param {Buffer} body @param {number} [version] */
const record = (type, body, version = 0x0303) =>
  Buffer.concat([
    Buffer.from([type, version >> 8, version & 255, body.length >> 8, body.length & 255]),
    body
  ]);
/** @param {number} level @param {number} description */
const alert = (level, description) => record(21, Buffer.from([level, description]));
/** @param {number} type @param {Buffer} body */
const handshake = (type, body) =>
  record(
    22,
    Buffer.concat([Buffer.from([type, body.length >> 16, (body.length >> 8) & 255, body.length & 255]), body])
  );
/** @param {string | Buffer} random @param {number} suite @param {string} [extensions] hex */
const serverHello = (random, suite, extensions = '') =>
  handshake(
    2,
    Buffer.concat([
      Buffer.from([3, 3]),
      Buffer.from(random),
      Buffer.from([0, suite >> 8, suite & 255, 0]),
      Buffer.from(extensions, 'hex')
    ])
  );
/** @param {[number, number][]} changes position in what the broker sends, what is changed there */
const marks = (...changes) =>
  Buffer.concat(changes.map(([at, change]) => Buffer.from([at >> 8, at & 255, change])));

const RANDOM = 'r'.repeat(32);
// [RFC 8446 4.1.3] SHA-256 of "HelloRetryRequest"
const RETRY = Buffer.from('cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c', 'hex');
const hello12 = serverHello(RANDOM, 0xc02b);

/** @type {Record<string, [number, number, Buffer]>} */
const seeds = {
  http: [RAW, 0, Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  alert: [RAW, 3, alert(2, 40)],
  warning: [RAW, 0, Buffer.concat([alert(1, 112), hello12])],
  goodbye: [RAW, 0, alert(1, 0)],
  hello12: [
    RAW,
    0,
    Buffer.concat([hello12, handshake(11, Buffer.from('000000', 'hex')), handshake(14, Buffer.alloc(0))])
  ],
  hello13: [RAW, 1, serverHello(RANDOM, 0x1301, '0006002b00020304')],
  retry: [RAW, 0, serverHello(RETRY, 0x1301, '000c002b00020304003300020018')],
  early: [BEFORE_START, 5, hello12],
  huge: [RAW, 0, Buffer.from('1603034000', 'hex')],
  untouched13: [TOUCHED_13, 0, Buffer.alloc(0)],
  'untouched-retry': [TOUCHED_RETRY, 1, Buffer.alloc(0)],
  untouched12: [TOUCHED_12, 0, Buffer.alloc(0)],
  'untouched-asked': [TOUCHED_ASKED, 7, Buffer.alloc(0)],
  'touched-type': [TOUCHED_13, 0, marks([0, 1])],
  'touched-version': [TOUCHED_13, 0, marks([9, 1], [10, 2])],
  'touched-secret': [TOUCHED_13, 0, marks([200, 255])],
  'touched-retry': [TOUCHED_RETRY, 0, marks([80, 1])],
  'touched-certificate': [TOUCHED_12, 40, marks([150, 3], [151, 255])],
  'touched-length': [TOUCHED_12, 0, marks([107, 1])],
  'touched-request': [TOUCHED_ASKED, 0, marks([650, 4])],
  'open-alert13': [OPEN_13, 0, alert(2, 40)],
  'open-record13': [OPEN_13, 2, record(23, Buffer.alloc(40))],
  'open-spec13': [OPEN_13, 0, record(20, Buffer.from([1]))],
  'open-record12': [OPEN_12, 0, record(23, Buffer.alloc(40))],
  'open-request12': [OPEN_12, 0, handshake(0, Buffer.alloc(0))]
};

fs.mkdirSync(folder, { recursive: true });
for (const [name, [mode, piece, bytes]] of Object.entries(seeds)) {
  fs.writeFileSync(path.join(folder, name), Buffer.concat([Buffer.from([mode, piece]), bytes]));
}
