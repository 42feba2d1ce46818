'use strict';
// Attacks a listener as hostile devices do, in a separate process:
//   node bench/harness/attack.js half-open|slow-loris|connects PORT COUNT SECONDS
// half-open   COUNT silent connections, opened again when they are closed
// slow-loris  COUNT connections that send a CONNECT, or after it a large PUBLISH, one byte per second
// connects    COUNT connections per second that close at once
// Standard output at the end: {"opened":…,"closedByGateway":…}

const net = require('node:net');

const [kind, port, count, seconds] = process.argv.slice(2);
const total = Number(count);
const endMs = Date.now() + Number(seconds) * 1000;
/** The most connections that are pending: a listener's backlog is finite, and this does not test it. */
const PENDING = 200;
const PUBLISH_BYTES = 4096;

let opened = 0;
let closedByGateway = 0;
let pending = 0;
/** @type {Set<net.Socket>} */
const sockets = new Set();

const running = () => Date.now() < endMs;

/** Returns a CONNECT of MQTT 3.1.1. @param {string} id */
function connectPacket(id) {
  const name = Buffer.from(id);
  const body = Buffer.concat([
    Buffer.from([0, 4]),
    Buffer.from('MQTT'),
    Buffer.from([4, 2, 0, 0, 0, name.length]),
    name
  ]);
  return Buffer.concat([Buffer.from([0x10, body.length]), body]);
}

/** Returns the beginning of a QoS 1 PUBLISH that does not end. */
function publishHead() {
  return Buffer.from([0x32, (PUBLISH_BYTES & 0x7f) | 0x80, PUBLISH_BYTES >> 7, 0, 1, 0x74, 0, 1]);
}

/** @param {(socket: net.Socket, number: number) => void} ready */
function open(ready) {
  const number = opened++;
  pending++;
  const socket = net.connect(Number(port), '127.0.0.1');
  sockets.add(socket);
  socket.once('connect', () => {
    pending--;
    ready(socket, number);
  });
  socket.on('error', () => {});
  socket.on('data', () => {});
  socket.once('close', () => {
    if (socket.connecting) pending--;
    sockets.delete(socket);
    if (running()) closedByGateway++;
  });
}

/** @param {net.Socket} socket @param {number} number */
function drip(socket, number) {
  const connected = number % 2 === 0;
  if (connected) socket.write(connectPacket(`loris-${number}`));
  const slow = connected ? publishHead() : connectPacket(`loris-${number}`);
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || !running()) return clearInterval(timer);
    // The body of the PUBLISH never ends; the last byte of the CONNECT is never sent.
    if (connected) socket.write(slow.subarray(at % slow.length, (at % slow.length) + 1));
    else if (at < slow.length - 1) socket.write(slow.subarray(at, at + 1));
    at++;
  }, 1000);
}

function keepOpen() {
  while (running() && sockets.size < total && pending < PENDING)
    open(kind === 'slow-loris' ? drip : () => {});
}

function comeAndGo() {
  for (let i = 0; i < total / 20 && pending < PENDING; i++) open((socket) => socket.destroy());
}

const timer = setInterval(() => {
  if (running()) return kind === 'connects' ? comeAndGo() : keepOpen();
  clearInterval(timer);
  console.log(JSON.stringify({ opened, closedByGateway }));
  process.exit(0);
}, 50);
