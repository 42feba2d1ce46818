'use strict';
// The gateway as a user starts it, with a record in its log on which the broker closes the connection.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { until } = require('../../bench/harness/broker');
const { Child } = require('../../bench/harness/child');
const { connectDevice } = require('../fixtures/devices/device');
const { gatewayCommand, root } = require('../../bench/harness/gateway');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { ScriptedBroker } = require('../fixtures/uplink/scripted-broker');

jest.setTimeout(120000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** @param {Record<string, string>} env */
async function start(env) {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
  const [command, ...args] = gatewayCommand();
  const child = new Child(command, args, { cwd: root, env: { ...Object.fromEntries(clean), ...env } });
  cleanups.push(() => child.stop('SIGKILL'));
  await waitForPort(Number(env.SEGANET_MQTT_PORT), '127.0.0.1', 30000, () => Boolean(child.exit));
  return child;
}

test('buries a record of the backlog on which the broker closes after a kill -9, and all others arrive', async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-home-'));
  cleanups.push(() => fs.rmSync(home, { recursive: true, force: true }));
  const broker = await ScriptedBroker.start({ close: ({ topic }) => (topic === 'd/bad/x' ? 0x90 : -1) });
  cleanups.push(() => broker.close());
  await broker.close();
  const port = await freePort();
  const env = {
    SEGANET_HOME: home,
    SEGANET_GATEWAY_ID: 'gw-test',
    SEGANET_DEVICE_HOST: '127.0.0.1',
    SEGANET_MQTT_PORT: String(port),
    SEGANET_UPLINK_URL: broker.url,
    SEGANET_BATCH_MODE: 'records',
    SEGANET_SESSIONS: 'all',
    SEGANET_EDITOR_PORT: 'off'
  };
  const gateway = { url: `mqtt://127.0.0.1:${port}` };

  const first = await start(env);
  const device = await connectDevice(gateway, 'pump');
  const topics = Array.from({ length: 40 }, (_, i) => (i === 20 ? 'd/bad/x' : `d/good/${i}`));
  await Promise.all(topics.map((topic) => device.publishAsync(topic, '{"v":1}', { qos: 1 })));
  device.end(true);
  await first.stop('SIGKILL');

  await broker.listen();
  const second = await start(env);
  const live = await connectDevice(gateway, 'live');
  const timer = setInterval(() => live.publish('d/live/x', '{"v":1}', { qos: 1 }), 100);
  cleanups.push(() => {
    clearInterval(timer);
    live.end(true);
  });
  await until(
    () => /when a record from the device "pump".*the record is now a dead letter/.test(second.output),
    60000
  );
  const good = topics.filter((topic) => topic !== 'd/bad/x');
  await until(() => good.every((topic) => broker.topics.includes(topic)), 30000);
  expect(second.output).toMatch(
    /when a record from the device "pump" \(topic "d\/bad\/x", \d+ bytes\) is sent.*is set aside/
  );
  const { connections } = broker;
  expect(connections).toBeLessThanOrEqual(8);
  // The session stays now: more of the live records arrive.
  const before = broker.received.length;
  await until(() => broker.received.length > before + 20, 10000);
});
