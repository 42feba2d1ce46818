'use strict';
// The bench's silent devices, and a short run of its chapter `idle`.

const net = require('node:net');
const idle = require('../../../bench/chapters/idle');
const { SilentFleet } = require('../../../bench/harness/silent');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(120000);

/** @param {(socket: net.Socket) => void} serve @returns {Promise<{port: number, close: () => void}>} */
function listen(serve) {
  const server = net.createServer(serve);
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      resolve({ port, close: () => server.close() });
    })
  );
}

describe('silent devices', () => {
  test('count the connections closed by the far end', async () => {
    const sockets = /** @type {net.Socket[]} */ ([]);
    const server = await listen((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.on('data', () => socket.write(Buffer.from([0x20, 2, 0, 0])));
    });
    const fleet = new SilentFleet(server.port);
    try {
      await fleet.grow(70); // more than connect at once
      expect(fleet.sockets.length).toBe(70);
      const closed = new Promise((resolve) => fleet.sockets[3].once('close', resolve));
      for (const socket of sockets.filter(({ remotePort }) => remotePort === fleet.sockets[3].localPort)) {
        socket.destroy();
      }
      await closed;
      expect(fleet.losses).toBe(1);
    } finally {
      fleet.close();
      server.close();
    }
    expect(fleet.losses).toBe(1);
  });

  test('report refused connections', async () => {
    const server = await listen((socket) =>
      socket.on('data', () => socket.write(Buffer.from([0x20, 2, 0, 5])))
    );
    const fleet = new SilentFleet(server.port);
    try {
      await expect(fleet.grow(1)).rejects.toThrow('refused: 20020005');
    } finally {
      fleet.close();
      server.close();
    }
  });
});

const plan = /** @type {import('../../../bench/options/chapter').Plan} */ ({
  rounds: 1,
  seconds: 1,
  warmup: 0,
  quick: true,
  all: false,
  only: [],
  env: {},
  openFiles: 1024,
  systems: ['seganet-adaptive', 'mosquitto-bridge'],
  sizes: { devices: 20 }
});

const withBroker = needs('mosquitto', 'c++');
withBroker.describe('the chapter idle', () => {
  test('measures 20 silent devices in short, of the gateway and of a broker', async () => {
    const cases = idle.cases(plan);
    expect(cases.map(({ key }) => key)).toEqual(plan.systems);
    const outcomes = [];
    for (const { key, run } of cases) {
      const context = { round: 0, previous: [], signal: new AbortController().signal };
      outcomes.push({ chapter: 'idle', key, round: 0, result: await run(context) });
    }
    const [gateway, broker] = outcomes.map(({ result }) => result.counts);
    for (const counts of [gateway, broker]) {
      expect(counts.map((/** @type {any} */ each) => each.devices)).toEqual([0, 1, 20]);
      expect(counts.at(-1).losses).toBe(0);
      expect(counts.at(-1).memory.rss).toBeGreaterThan(1e6);
    }
    const names = gateway.at(-1).threads.map((/** @type {any} */ each) => each.name);
    expect(names).toEqual(expect.arrayContaining(['seganet-w0', 'seganet-uplink', 'MainThread']));
    const { markdown, ratios } = idle.report(outcomes, plan);
    expect(markdown).toMatch(/\| seganet-adaptive \| 20 \| \d/);
    expect(markdown).toMatch(/\| mosquitto-bridge \| mosquitto \| \d/);
    expect(ratios.map(({ target }) => target)).toEqual(['≤ 1', '≤ 8', undefined]);
  });
});

test('reports skipped runs with the remedy', () => {
  const lacking = idle.lacking?.({ ...plan, systems: [], sizes: {}, all: true }) ?? [];
  expect(lacking.map(({ label }) => label)).toContain('10000 silent devices');
});
