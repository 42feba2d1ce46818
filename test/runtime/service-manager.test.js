'use strict';
// A real gateway under a service manager: what it notifies, and when.

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { ROOT, run, until, accepts, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const COMMAND = path.join(ROOT, 'flows/cli/seganet-gateway.js');
const FIXTURES = path.join(ROOT, 'test/fixtures/gateway');
const { describe: withPython } = needs('python3');
const { test: asRoot } = needs('python3', ...(process.getuid?.() === 0 ? [] : ['root']));

/** A gateway starts within this time, also on a machine that does other things. */
const START_MS = 60000;

jest.setTimeout(180000);
afterEach(cleanUp);

/** A service manager's socket. */
async function manager() {
  const address = path.join(temporaryFolder(), 'notify');
  const receiver = run('python3', [path.join(FIXTURES, 'notify-socket.py'), address]);
  await receiver.says('"bound"');
  return {
    address,
    /** @returns {string[]} */
    get messages() {
      const lines = receiver.output.split('\n').slice(1, -1);
      return lines.map((line) => JSON.parse(line));
    }
  };
}

/**
 * @param {string} address
 * @param {Record<string, string>} [more]
 * @param {(flow: any[]) => any[]} [edit] makes the flow from the shipped one
 */
async function start(address, more = {}, edit) {
  const home = path.join(temporaryFolder(), 'gateway');
  const port = await freePort();
  if (edit) {
    const shipped = JSON.parse(fs.readFileSync(path.join(ROOT, 'flows/gateway.json'), 'utf8'));
    fs.mkdirSync(home, { mode: 0o700 });
    fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(edit(shipped)));
  }
  const env = cleanEnvironment({
    SEGANET_HOME: home,
    SEGANET_MQTT_PORT: String(port),
    SEGANET_EDITOR_PORT: 'off',
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
    SEGANET_WORKERS: '2',
    NOTIFY_SOCKET: address,
    WATCHDOG_USEC: '3000000',
    ...more
  });
  return { port, home, gateway: run(process.execPath, [COMMAND, 'start'], { env }) };
}

const isReady = (/** @type {string} */ message) => message.startsWith('READY=1\n');
const isAlive = (/** @type {string} */ message) => message.startsWith('WATCHDOG=1');

withPython('a gateway under a service manager', () => {
  test('is ready when devices can connect, stays alive, and says that it stops', async () => {
    const service = await manager();
    const { port, gateway } = await start(service.address);
    expect(await accepts(port)).toBe(false);
    await until(() => service.messages.some(isReady), { within: START_MS, what: () => gateway.output });
    expect(await accepts(port)).toBe(true);
    expect(service.messages.filter(isReady)).toHaveLength(1);
    const seen = service.messages.filter(isAlive).length;
    await until(() => service.messages.filter(isAlive).length >= seen + 2);
    // The reason of the outage, in one line.
    await until(() =>
      service.messages.some((each) => /^STATUS=degraded: The uplink cloud is disconnected/m.test(each))
    );
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 0 });
    expect(service.messages.filter((each) => each.startsWith('STOPPING=1'))).toHaveLength(1);
    expect(gateway.output).not.toMatch(/notified/);
  });

  test.each([
    ['without an instance', 0],
    ['with two instances', 2]
  ])('is ready with a device listener in a subflow %s', async (_how, instances) => {
    const service = await manager();
    const { port, gateway, home } = await start(service.address, {}, (flow) => {
      const listener = flow.find(({ type }) => type === 'seganet-mqtt-devices');
      const inside = { ...listener, id: 'inside', z: 'cell', port: '0', wires: [] };
      const copies = Array.from({ length: instances }, (_none, i) => ({
        id: `copy-${i}`,
        type: 'subflow:cell',
        z: listener.z,
        x: 100,
        y: 600,
        wires: []
      }));
      return [...flow, { id: 'cell', type: 'subflow', name: 'cell', in: [], out: [] }, inside, ...copies];
    });
    await until(() => service.messages.some(isReady), { within: START_MS, what: () => gateway.output });
    expect(await accepts(port)).toBe(true);
    const status = run(process.execPath, [COMMAND, 'status', '--json', '--home', home], {
      env: cleanEnvironment()
    });
    const { listeners } = JSON.parse((await status.ended).output);
    expect(listeners.map(({ id }) => id).filter((/** @type {string} */ id) => id.includes('inside'))).toEqual(
      Array.from({ length: instances }, (_none, i) => `copy-${i}-inside`)
    );
    expect(listeners.every(({ fill }) => fill !== '')).toBe(true);
  });

  test('is ready with its engine and all other nodes in a subflow', async () => {
    const service = await manager();
    const { port, gateway } = await start(service.address, {}, (flow) => {
      const tab = flow.find(({ type }) => type === 'tab');
      const nodes = flow.filter(({ type }) => type !== 'tab').map((each) => ({ ...each, z: 'cell' }));
      const cell = { id: 'cell', type: 'subflow', name: 'cell', in: [], out: [] };
      return [
        tab,
        cell,
        ...nodes,
        { id: 'copy', type: 'subflow:cell', z: tab.id, x: 100, y: 100, wires: [] }
      ];
    });
    await until(() => service.messages.some(isReady), { within: START_MS, what: () => gateway.output });
    expect(await accepts(port)).toBe(true);
  });

  test('is not ready while it cannot serve devices', async () => {
    const service = await manager();
    const other = net.createServer();
    const port = await new Promise((resolve) =>
      other.listen(0, '127.0.0.1', () => resolve(/** @type {net.AddressInfo} */ (other.address()).port))
    );
    try {
      const { gateway } = await start(service.address, { SEGANET_MQTT_PORT: String(port) });
      await gateway.says(/devices: port \d+ in use/, START_MS);
      const before = service.messages.filter(isAlive).length;
      await until(() => service.messages.filter(isAlive).length > before + 1);
      expect(service.messages.filter(isReady)).toEqual([]);
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
    // It retries the port, and is ready then.
    await until(() => service.messages.some(isReady));
  });

  test('does not need the service manager to answer', async () => {
    const { gateway } = await start(path.join(temporaryFolder(), 'nobody'));
    await gateway.says(/devices: MQTT listener/, START_MS);
    await gateway.says(/warning: The service manager cannot be notified/);
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 0 });
  });
});

asRoot('a gateway with a worker that hangs sends no watchdog until it runs again', async () => {
  const service = await manager();
  const { gateway } = await start(service.address);
  await until(() => service.messages.some(isReady), { within: START_MS, what: () => gateway.output });
  const tasks = `/proc/${gateway.child.pid}/task`;
  const worker = fs
    .readdirSync(tasks)
    .find((tid) => fs.readFileSync(path.join(tasks, tid, 'comm'), 'utf8').trim() === 'seganet-w1');
  const holder = run('python3', [path.join(FIXTURES, 'hold-thread.py'), String(worker)]);
  await holder.says('held');
  await gateway.says(/warning: Worker 1 of the engine seganet-engine-1 makes no progress\./);
  const status = 'STATUS=Worker 1 of the engine seganet-engine-1 makes no progress.';
  await until(() => service.messages.includes(status));
  const held = service.messages.indexOf(status) + 1;
  // Longer than WatchdogSec: the service manager would end the gateway now.
  await new Promise((resolve) => setTimeout(resolve, 3500));
  expect(service.messages.slice(held).filter(isAlive)).toEqual([]);
  holder.child.kill('SIGKILL');
  await until(() => service.messages.slice(held).some(isAlive));
});

withPython('a gateway whose Node-RED thread is blocked', () => {
  test('sends no watchdog, and status says that it does not answer', async () => {
    const service = await manager();
    const { gateway, home } = await start(service.address);
    await until(() => service.messages.some(isReady), { within: START_MS, what: () => gateway.output });
    // All threads stand still, the one that notifies, too.
    gateway.child.kill('SIGSTOP');
    const held = service.messages.length;
    const status = await run(process.execPath, [COMMAND, 'status', '--home', home], {
      env: cleanEnvironment()
    }).ended;
    expect(status).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^degraded: .*\n {2}The gateway does not answer within 10 s/)
    });
    expect(service.messages.slice(held)).toEqual([]);
    gateway.child.kill('SIGCONT');
    await until(() => service.messages.slice(held).some(isAlive));
  });
});
