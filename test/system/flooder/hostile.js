'use strict';
// Simulates hostile devices in a separate process: node hostile.js '{"ports":{…},"seed":1,"seconds":20}'
// Three kinds of attack at a time, drawn by the seed. Standard output at the end: {"kinds":{…}} how often each ran.

const dgram = require('node:dgram');
const net = require('node:net');
const { seeded } = require('../../fixtures/random');
const { colliding, ofOneWorker } = require('./ids');
const packets = require('./packets');

const { ports, seed, seconds } = JSON.parse(process.argv[2]);
/** The drawn plan does not depend on the machine's speed. */
const plan = seeded(seed);
const random = seeded(seed + 1);
const AT_ONCE = 3;
const MOST_SOCKETS = 1500;
const endMs = Date.now() + seconds * 1000;

/** @type {Set<net.Socket>} */
const sockets = new Set();
/** @type {Record<string, number>} */
const kinds = {};
let untilMs = 0;
const isOver = () => Date.now() >= Math.min(untilMs, endMs);
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} port @param {(socket: net.Socket) => void} ready */
function open(port, ready) {
  if (sockets.size >= MOST_SOCKETS) return;
  const socket = net.connect(port, '127.0.0.1');
  sockets.add(socket);
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', () => {});
  socket.once('close', () => sockets.delete(socket));
  socket.once('connect', () => ready(socket));
}

/** Sends the same packet repeatedly while it is read. @param {net.Socket} socket @param {Buffer} packet */
function flood(socket, packet) {
  const chunk = Buffer.concat(Array(Math.max(1, Math.floor(16384 / packet.length))).fill(packet));
  const more = () => {
    while (!isOver() && !socket.destroyed) if (!socket.write(chunk)) return;
    if (!socket.destroyed) socket.destroy();
  };
  socket.on('drain', more);
  more();
}

/** @param {() => void} step @param {number} everyMs */
async function repeat(step, everyMs) {
  while (!isOver()) {
    step();
    await pause(everyMs);
  }
}

/** @param {keyof typeof packets.CONTROL} name */
const control = (name) => async () => {
  for (let i = 0; i < 4; i++) {
    open(ports.mqtt, (socket) => {
      socket.write(packets.connect(`flood-${name}-${i}`));
      flood(socket, packets.CONTROL[name]);
    });
  }
  await repeat(() => {}, 50);
};

/** @param {(n: number) => string} idOf */
const churn = (idOf) => async () => {
  let n = random.integer(60000);
  await repeat(() => {
    for (let i = 0; i < 20; i++) {
      const id = idOf(n++ & 0xffff);
      open(ports.mqtt, (socket) => {
        socket.end(Buffer.concat([packets.connect(id), packets.publish('flood/t', '1', 1)]));
      });
    }
  }, 10);
};

/** @param {(n: number) => Buffer[]} messages */
const datagrams = (messages) => async () => {
  const socket = dgram.createSocket('udp4');
  socket.on('error', () => {});
  let n = random.integer(60000);
  await repeat(() => {
    for (let i = 0; i < 100; i++)
      for (const each of messages(n++)) socket.send(each, ports.coap, '127.0.0.1');
  }, 5);
  socket.close();
};

/** @param {number} port @param {(n: number) => Buffer} bytes @param {number} count */
const hold = (port, bytes, count) => async () => {
  for (let i = 0; i < count; i++) open(port, (socket) => socket.write(bytes(i)));
  await repeat(() => {}, 50);
};

const upgrade = Buffer.from(
  'GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n'
);
/** A binary frame that claims more bytes than it has. @param {number} claimed @param {number} sent */
function frame(claimed, sent) {
  const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
  head.writeUInt32BE(claimed, 6);
  return Buffer.concat([upgrade, head, Buffer.alloc(sent, 7)]);
}

const oneWorker = ofOneWorker(5000, 'aimed');
const bigConnect = Buffer.concat([
  Buffer.from([0x10, 0xe0, 0xd4, 3, 0, 4]),
  Buffer.from('MQTT'),
  Buffer.from([4, 2, 0, 0]),
  Buffer.alloc(59000)
]);

/** @type {Record<string, () => Promise<void>>} */
const attacks = {
  subscribe: control('subscribe'),
  'subscribe and unsubscribe': control('both'),
  unsubscribe: control('unsubscribe'),
  pingreq: control('pingreq'),
  pubrel: control('pubrel'),
  puback: control('puback'),
  auth: () =>
    repeat(() => {
      const id = `auth-${random.integer(100)}`;
      open(ports.mqtt, (socket) =>
        socket.write(Buffer.concat([packets.connect(id, { version: 5 }), packets.AUTH]))
      );
    }, 5),
  'colliding ids': churn(colliding),
  'ids of one worker': churn((n) => oneWorker[n % oneWorker.length]),
  churn: churn((n) => `churn-${n}`),
  'take-over': churn((n) => `taken-${n % 3}`),
  'stalled packets': hold(
    ports.mqtt,
    (n) => Buffer.concat([packets.connect(`stalled-${n}`), packets.unfinished(250000)]),
    80
  ),
  'oversize claims': () =>
    repeat(() => {
      const id = `claims-${random.integer(1000)}`;
      const claim = Buffer.from([0x32, 0xff, 0xff, 0xff, 0x7f, 0, 1, 0x74]);
      open(ports.mqtt, (socket) => socket.write(Buffer.concat([packets.connect(id), claim])));
    }, 5),
  'half a CONNECT': hold(ports.mqtt, () => bigConnect, 300),
  'frames before a login': hold(ports.ws, () => frame(1 << 20, (1 << 20) - 1), 100),
  'small frames before a login': hold(ports.ws, (n) => frame(65536, 60000 - n), 400),
  'coap records': datagrams((n) => [
    packets.coap({
      type: n & 1,
      id: n & 0xffff,
      token: random.bytes(n & 7),
      path: ['r', `c-${n % 5000}`],
      payload: '1'
    })
  ]),
  'coap colliding ids': datagrams((n) => [
    packets.coap({ id: n & 0xffff, path: ['r', colliding(n & 0xffff)], payload: '1' })
  ]),
  'coap observe': datagrams((n) => [
    packets.coap({
      code: 1,
      id: n & 0xffff,
      token: random.bytes(8),
      path: ['cmd', `o-${n % 3000}`],
      observe: true
    })
  ]),
  'coap bytes': datagrams((n) => [random.bytes(1 + (n % 60))]),
  logins: () =>
    repeat(() => {
      for (let i = 0; i < 10; i++) {
        const user = `user-${random.integer(1000)}`;
        const login = packets.connect(user, { user, password: 'x'.repeat(random.integer(1000)) });
        open(i & 1 ? ports.login : ports.passwords, (socket) => socket.write(login));
      }
    }, 10)
};

/** @param {string} kind */
async function attack(kind) {
  kinds[kind] = (kinds[kind] ?? 0) + 1;
  await attacks[kind]();
}

async function main() {
  const names = Object.keys(attacks);
  while (Date.now() < endMs) {
    untilMs = Date.now() + 800 + plan.integer(2500);
    const drawn = Array.from({ length: AT_ONCE }, () => names[plan.integer(names.length)]);
    await Promise.all([...new Set(drawn)].map(attack));
    // Some stay until they are closed.
    for (const socket of sockets) if (random.integer(4) > 0) socket.destroy();
  }
  for (const socket of sockets) socket.destroy();
  console.log(JSON.stringify({ kinds }));
}

void main().then(() => process.exit(0));
