'use strict';
// What the questions about several gateways are made of.

const net = require('node:net');
const { MovingAddress } = require('../../../bench/harness/moving-address');
const { moves } = require('../../../bench/runs/gateways');

/** A machine that answers with its name. @param {string} name */
async function machine(name) {
  const server = net.createServer((socket) => socket.on('error', () => {}).write(name));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return { port: /** @type {net.AddressInfo} */ (server.address()).port, stop: () => server.close() };
}

/** @param {number} port @returns {{ name: Promise<string>, closed: Promise<unknown> }} name: '' = nobody answers */
function connect(port) {
  const socket = net.connect(port, '127.0.0.1').on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const name = new Promise((resolve) => socket.once('data', resolve)).then(String);
  return { name: Promise.race([name, closed.then(() => '')]), closed };
}

test('a moving address has one machine, or none, and closes its connections when it moves', async () => {
  const [one, two] = [await machine('one'), await machine('two')];
  const address = await new MovingAddress().listen();
  try {
    expect(await connect(address.port).name).toBe('');
    address.moveTo(one.port);
    const first = connect(address.port);
    expect(await first.name).toBe('one');
    address.moveTo(0);
    await first.closed;
    expect(await connect(address.port).name).toBe('');
    address.moveTo(two.port);
    expect(await connect(address.port).name).toBe('two');
  } finally {
    await address.close();
    one.stop();
    two.stop();
  }
});

test('devices of the others count as moved at another gateway, and as cut on another connection', () => {
  /** @param {Record<string, [number, string]>} places */
  const at = (places) =>
    new Map(Object.entries(places).map(([device, [gateway, address]]) => [device, { gateway, address }]));
  const before = at({ a: [0, ':1'], b: [1, ':2'], c: [1, ':3'], d: [2, ':4'], e: [2, ':5'], f: [2, ':6'] });
  const after = at({ a: [1, ':9'], b: [1, ':2'], c: [2, ':7'], d: [2, ':4'], e: [2, ':8'], f: [2, ':6'] });
  expect(moves(before, after, 0, 3)).toEqual({ share: 0.5, moved: 1, cut: 2 });
});
