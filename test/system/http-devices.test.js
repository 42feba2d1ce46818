'use strict';
// Devices post to a real gateway that is killed; the cloud gets the records that were acknowledged as safe.

const { execFileSync } = require('node:child_process');
const { startCloud } = require('../../bench/harness/cloud');
const { receive } = require('../fixtures/devices/device');
const { homeWith } = require('../fixtures/gateway/flow-home');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { test } = needs('mosquitto', 'openssl', 'curl');

jest.setTimeout(60000);

test('delivers every record of a request that got 200 after kill -9, and answers curl', async () => {
  const cloud = await startCloud();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/r`;
  const { home, remove } = homeWith([
    { id: 'http', type: 'seganet-http-devices', port: String(port), rate: '0', maxBodyKiB: '64' }
  ]);
  const start = async () => {
    const started = await startGateway(cloud, { env: { SEGANET_HOME: home } });
    await waitForPort(port);
    return started;
  };
  let gateway = await start();
  const receiver = await receive(cloud);
  try {
    /** @param {string[]} args */
    const curl = (...args) =>
      execFileSync('curl', ['-s', '-w', '%{http_code}', ...args], { encoding: 'utf8' });
    expect(curl('-d', '{"v":1}', `${url}/curl/t`)).toMatch(/^\{"accepted":1\}\n200$/);
    expect(curl('-d', 'x'.repeat(70000), `${url}/curl`)).toMatch(/413$/);
    expect(curl(`${url}/curl`)).toMatch(/405$/);
    await receiver.record(({ d, t, p }) => d === 'curl' && t === 'r/curl/t' && p.v === 1);

    /** @type {string[]} */
    const safe = [];
    let isOver = false;
    const devices = Array.from({ length: 8 }, async (_, d) => {
      for (let n = 0; !isOver; n++) {
        const lines = [0, 1, 2].map((i) => `{"payload":{"n":${n * 3 + i}}}\n`).join('');
        const response = await fetch(`${url}/dev${d}`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/x-ndjson' },
          body: lines,
          signal: AbortSignal.timeout(5000)
        }).catch(() => null);
        if (response?.status === 200) safe.push(...[0, 1, 2].map((i) => `dev${d} ${n * 3 + i}`));
        else await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    for (const count of [300, 900]) {
      await eventually(() => safe.length > count, { timeoutMs: 20000, what: 'requests that are safe' });
      gateway.child.kill('SIGKILL');
      await gateway.child.exited;
      gateway = await start();
    }
    await eventually(() => safe.length > 1200, { timeoutMs: 20000 });
    isOver = true;
    await Promise.all(devices);
    const missing = () => {
      const arrived = new Set(receiver.records().map(({ d, p }) => `${d} ${p.n}`));
      return safe.filter((record) => !arrived.has(record));
    };
    await eventually(() => missing().length === 0, {
      timeoutMs: 20000,
      what: `${missing().length} that miss`
    });
  } finally {
    await receiver.close();
    await gateway.stop();
    await cloud.close();
    remove();
  }
});
