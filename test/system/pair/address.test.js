'use strict';
// The address of a pair: the real keepalived with the configuration of docker/cluster/pair on two machines.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../../bench/harness/tools');
const { obstacle } = require('../../../bench/harness/netns');
const { Lan } = require('../../fixtures/network/lan');
const { PATIENCE } = require('../../../bench/harness/patience');

const { test } = needs('keepalived', 'curl', ...(obstacle() ? ['root'] : []));
jest.setTimeout(60000);

const CONFIG = path.join(__dirname, '../../../docker/cluster/pair/keepalived.conf');
const FIXTURES = path.join(__dirname, '../../fixtures/pair');
const ADDRESS = '10.0.0.10';
const MOVE_MS = 2000;
/** What a machine adds that also does other things. */
const BUSY_MS = 2000 * PATIENCE;

/** @type {Lan} */
let lan;
afterEach(() => lan?.close());

test('the address moves within two seconds to the gateway that is ready, and stays while no other one is better', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'keepalived-'));
  lan = await Lan.open();
  const start = async (/** @type {string} */ name, /** @type {string} */ address) => {
    const machine = await lan.join(name, address);
    const gateway = machine.start(process.execPath, [path.join(FIXTURES, 'ready-server.js'), name]);
    await gateway.until((output) => output.includes('ready'));
    const [pid, vrrp] = ['pid', 'vrrp'].map((kind) => path.join(folder, `${name}.${kind}`));
    const files = ['--use-file', CONFIG, '--config-id', name, '--pid', pid, '--vrrp_pid', vrrp];
    machine.start('keepalived', ['--dont-fork', '--log-console', ...files]);
    return { machine, switchReadiness: () => process.kill(gateway.pid, 'SIGUSR1') };
  };
  const a = await start('a', '10.0.0.11/24');
  const b = await start('b', '10.0.0.12/24');
  const device = await lan.join('device', '10.0.0.20/24');
  const watch = device.start(process.execPath, [path.join(FIXTURES, 'watching-device.js'), ADDRESS]);

  /** Resolves with the ms since `since` when the device reaches the machine. @param {string} name */
  const reaches = (name, since = 0) =>
    watch.until(() => {
      const last = watch.jsonLines().at(-1);
      return last?.name === name && last.ms > since && last.ms - since;
    });

  a.switchReadiness();
  await reaches('a');
  const outage = Date.now();
  a.switchReadiness();
  b.switchReadiness();
  expect(await reaches('b', outage)).toBeLessThan(MOVE_MS + BUSY_MS);

  // a is as good as b again.
  a.switchReadiness();
  const moves = watch.jsonLines().length;
  await new Promise((resolve) => setTimeout(resolve, MOVE_MS));
  expect(watch.jsonLines()).toHaveLength(moves);

  const lost = Date.now();
  b.machine.cut();
  expect(await reaches('a', lost)).toBeLessThan(MOVE_MS + BUSY_MS);
});
