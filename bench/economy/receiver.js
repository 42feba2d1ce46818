'use strict';
// Entry of a process: a subscriber behind the cloud's broker that counts records, single ones and those of envelopes,
// compressed or not. Argument: PORT. Prints a JSON line ten times a second.

const net = require('node:net');
const { Dictionaries } = require('../../nodes/lib/unbatch/dictionaries');
const { decompress, dictionaryIn, encodingOf } = require('../../nodes/lib/unbatch/payload-encoding');
const { readEnvelope } = require('../../nodes/lib/unbatch/unbatch');
const { Frames, TYPE, connect, messageOf, subscribe } = require('./frames');

const EVERY_MS = 100;
/** Every so many envelopes, one is parsed, and its lines must be that many records. */
const CHECK_EVERY = 64;
const NEWLINE = 0x0a;

const dictionaries = new Dictionaries('');
const counts = { records: 0, messages: 0 };

/** @param {Buffer} bytes */
function linesOf(bytes) {
  let lines = bytes.length > 0 && bytes[bytes.length - 1] !== NEWLINE ? 1 : 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}

/** @param {{ topic: string, payload: Buffer }} message @returns {number} its records */
function recordsIn({ topic, payload }) {
  if (topic.startsWith('d/')) return 1;
  const content = dictionaryIn({ payload });
  if (content) {
    dictionaries.add(content);
    return 0;
  }
  const encoded = encodingOf({ payload });
  const dictionary = encoded?.dictionary ? dictionaries.get(encoded.dictionary) : undefined;
  if (encoded?.dictionary && !dictionary) throw new Error(`The dictionary ${encoded.dictionary} is unknown.`);
  const bytes = encoded ? decompress(encoded, dictionary) : payload;
  const lines = linesOf(bytes);
  if (counts.messages % CHECK_EVERY === 0 && readEnvelope(bytes).records.length !== lines)
    throw new Error('An envelope has more or fewer records than lines.');
  return lines;
}

const frames = new Frames();
const socket = net.connect(Number(process.argv[2]), '127.0.0.1');
socket.on('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
socket.on('data', (chunk) => {
  for (const frame of frames.push(chunk)) {
    if (frame.type === TYPE.CONNACK) socket.write(subscribe(['d/#', 'gw/#']));
    else if (frame.type === TYPE.SUBACK) console.log(JSON.stringify({ event: 'ready' }));
    else if (frame.type === TYPE.PUBLISH) {
      counts.records += recordsIn(messageOf(frame));
      counts.messages++;
    }
  }
});
socket.write(connect('bench-receiver'));
setInterval(() => console.log(JSON.stringify({ event: 'count', ms: Date.now(), ...counts })), EVERY_MS);
