'use strict';
// The chapter `tenants` of the benchmark, in short: its parts with a real front, a real keeper and real tenants.

const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { runInside } = require('../../../bench/tenants/containers/inside');
const { duty } = require('../../../bench/tenants/footprint');
const { scale } = require('../../../bench/tenants/scale');
const { coldWakes } = require('../../../bench/tenants/wakes');

jest.setTimeout(240000);

test('a record wakes a stopped tenant, and the device stays connected', async () => {
  const found = await coldWakes({ samples: 1 });
  expect(found).toMatchObject({ losses: 0 });
  // The PUBACK does not wait for the tenant.
  expect(found.puback[0]).toBeLessThan(found.acknowledged[0]);
  expect(found.arrived[0]).toBeGreaterThan(100);
});

test('a tenant with store and page gets packets of 13 bytes, and its CPU and memory are counted', async () => {
  const { packets, cores, memory: found } = await duty({ minutes: 0.01, quietMs: 100 });
  // A slow machine has time for more than one.
  expect(packets).toBeGreaterThan(0);
  expect(Object.keys(cores)).toEqual(['front', 'keeper', 'tenant']);
  for (const { rss, private: own } of Object.values(found)) {
    expect(rss).toBeGreaterThan(own);
    expect(own).toBeGreaterThan(1e6);
  }
});

needs('mosquitto').test(
  'many tenants sleep, some get records, and a sleeping one is woken meanwhile',
  async () => {
    const found = await scale({
      defined: 12,
      awake: 2,
      devices: 4,
      probes: 1,
      everyMs: 100,
      seconds: 0.5,
      settleMs: 100,
      isLight: true
    });
    expect(found).toMatchObject({ devices: 4, refused: 0, losses: 0, lost: null });
    expect(found.acked).toBe(found.sent);
    expect(found.wakes).toEqual([expect.objectContaining({ arrived: null, readyMs: expect.any(Number) })]);
    expect(found.loaded.tenants).toHaveLength(2);
  }
);

test('the work of the comparison gives figures', async () => {
  const port = await freePort();
  const program = path.join(__dirname, '../../../bench/tenants/containers/work.js');
  const env = { ...process.env, SEGANET_HOME: __dirname, SEGANET_TENANT_HOST: '127.0.0.1', SEGANET_TENANT_HTTP: `${port}` }; // prettier-ignore
  const child = new Child(process.execPath, [program], { env, name: 'work' });
  try {
    await waitForPort(port);
    const ask = async (/** @type {string} */ what) =>
      (await fetch(`http://127.0.0.1:${port}/${what}`)).json();
    expect((await ask('primes?threads=2&ms=20')).perSecond).toBeGreaterThan(0);
    expect(Object.values(await ask('copies?ms=10')).every((value) => value > 0)).toBe(true);
    const udp = await freePort();
    await ask(`udp-open?port=${udp}`);
    const sent = await ask(`udp-send?host=127.0.0.1&port=${udp}&mbit=90&ms=100`);
    // 90 Mbit/s for 0.1 s, less than a datagram of 1,400 bytes too much.
    expect(Math.abs(sent.bytes - 1125000)).toBeLessThan(1400);
    expect((await ask('udp-close')).bytes).toBeLessThanOrEqual(sent.bytes);
  } finally {
    await child.stop('SIGKILL');
  }
});

const { test: withDocker } = needs('dockerd', 'runc', 'iptables', 'nft', 'unshare', 'ip', 'tar');
withDocker('the same work runs in a container and natively', async () => {
  const sizes = { repeats: 1, ms: 50, mib: 4, threads: [1] };
  const { native, limited, container, changes } = await runInside('docker', 'compare', sizes);
  expect([native.length, limited.length, container.length, changes]).toEqual([1, 1, 1, 0]);
  for (const { write, udp } of [...native, ...limited, ...container]) {
    expect(write).toBeGreaterThan(0);
    expect(udp.arrived).toBeGreaterThan(0);
  }
});
