'use strict';
// A real gateway with a series node is killed while devices publish: each acknowledged value is in its series.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { startFlow } = require('../fixtures/gateway/deployed');
const { Rig } = require('../fixtures/series/series-rig');
const { root } = require('../../bench/harness/gateway');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');

jest.setTimeout(180000);

test('has every value of an acknowledged PUBLISH after kill -9, and a backup has them, too', async () => {
  const port = await freePort();
  const at = { z: 'tab', x: 100, y: 100 };
  const flow = [
    { id: 'tab', type: 'tab', label: 'series' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      engine: 'engine',
      port: String(port),
      acknowledgeMessages: 'delivered',
      wires: [['series']]
    },
    { ...at, id: 'series', type: 'seganet-series', wires: [[]] },
    // It carries nothing; the launcher reports it when the gateway is ready.
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...at, id: 'cloud', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] }
  ];
  let gateway = await startFlow(flow);
  const { home } = gateway;
  /** @type {Set<number>} */
  const acknowledged = new Set();
  let next = 0;
  const copies = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-copies-'));
  try {
    for (let round = 0; round < 2; round++) {
      await waitForPort(port);
      const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: 'pump-1', reconnectPeriod: 0 });
      client.on('error', () => {});
      let open = 0;
      const publish = () => {
        while (open < 100 && client.connected) {
          const n = ++next;
          open++;
          // A series has one value in a millisecond, so the values are of many series.
          client.publish('d/pump-1', `{"n${n % 500}":${n}}`, { qos: 1 }, (error) => {
            open--;
            if (!error) acknowledged.add(n);
            if (!error) publish();
          });
        }
      };
      client.on('connect', publish);
      const wanted = 1000 * (round + 1);
      await eventually(() => acknowledged.size > wanted, { timeoutMs: 60000, what: 'acknowledged values' });
      await gateway.end('SIGKILL');
      await client.endAsync(true);
      gateway = await startFlow(flow, home);
    }
    const admin = `http://127.0.0.1:${gateway.adminPort}/seganet`;
    const response = await fetch(`${admin}/series/series/range?device=pump-1&from=-1h&limit=100000`);
    expect(response.headers.get('seganet-truncated')).toBeNull();
    const lines = (await response.text()).split('\n').filter(Boolean);
    const found = new Set(lines.map((line) => JSON.parse(line).value));
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toMatch(/^seganet_series_up\{node="series"\} 1$/m);
    const lost = [...acknowledged].filter((n) => !found.has(n));
    expect({ lost: lost.length, of: acknowledged.size }).toEqual({ lost: 0, of: acknowledged.size });

    // The gateway runs meanwhile.
    const command = (/** @type {string[]} */ ...args) =>
      execFileSync(process.execPath, [path.join(root, 'flows/cli/seganet-gateway.js'), ...args], {
        encoding: 'utf8'
      });
    const file = path.join(copies, 'a.backup');
    command('backup', file, '--home', home);
    command('restore', file, '--home', path.join(copies, 'home'));
    const restored = path.join(copies, 'home', 'seganet-series', 'series');
    expect(fs.readdirSync(restored)).toEqual(['series.db']);
    const rig = new Rig({ directory: restored });
    rig.now = Date.now();
    expect(rig.store.series.size).toBe(500);
    expect(rig.problems).toEqual([]);
    rig.store.close();
  } finally {
    await gateway.stop();
    for (const folder of [home, copies]) fs.rmSync(folder, { recursive: true, force: true });
  }
});
