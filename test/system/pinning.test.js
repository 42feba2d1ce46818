'use strict';

const fs = require('node:fs');
const { allowedCores } = require('../../bench/harness/proc');
const { startCloud } = require('../../bench/harness/cloud');
const { connectDevices, receive } = require('../fixtures/devices/device');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('mosquitto', 'taskset');

jest.setTimeout(60000);

/** @param {number} group @returns {number[]} processes of the gateway, launcher included */
function processesOf(group) {
  return fs
    .readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      try {
        const stat = fs.readFileSync(`/proc/${entry}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === group;
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** @param {number} group @returns {{name: string, cores: string}[]} the workers by number */
function workersOf(group) {
  return processesOf(group)
    .flatMap((pid) => fs.readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`))
    .map((task) => {
      const status = fs.readFileSync(`${task}/status`, 'utf8');
      const cores = /** @type {RegExpMatchArray} */ (status.match(/Cpus_allowed_list:\s*(\S+)/));
      return { name: fs.readFileSync(`${task}/comm`, 'utf8').trim(), cores: cores[1] };
    })
    .filter(({ name }) => /^seganet-w\d+$/.test(name))
    .sort((a, b) => Number(a.name.slice(9)) - Number(b.name.slice(9)));
}

describe('workers', () => {
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../bench/harness/gateway').Gateway | undefined} */
  let gateway;
  beforeAll(async () => {
    cloud = await startCloud();
  });
  afterEach(async () => {
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    gateway = undefined;
  });
  afterAll(async () => {
    if (cloud) await cloud.close();
  });

  const cores = allowedCores();

  test('run one for each core but the first by default, each on its own', async () => {
    gateway = await startGateway(cloud, { gatewayId: 'pin-default' });
    const expected = cores.length > 1 ? cores.slice(1) : cores;
    expect(workersOf(gateway.child.pid)).toEqual(
      expected.map((core, i) => ({ name: `seganet-w${i}`, cores: String(core) }))
    );
  });

  test('take number and cores from SEGANET_WORKERS and the engine node, and records still flow', async () => {
    const list = cores.slice(0, 2);
    gateway = await startGateway(cloud, {
      gatewayId: 'pin-chosen',
      env: { SEGANET_WORKERS: String(list.length), 'seganet-engine.cpus': list.join(',') }
    });
    const workers = workersOf(gateway.child.pid);
    expect(workers.map(({ cores: own }) => own).sort()).toEqual(list.map(String).sort());

    const receiver = await receive(cloud, 'gw/pin-chosen/#');
    const devices = await connectDevices(gateway, 20);
    await Promise.all(devices.map((device, i) => device.publishAsync(`d/dev-${i}/t`, '1', { qos: 1 })));
    await eventually(() => new Set(receiver.records().map(({ d }) => d)).size === 20);
    await Promise.all([...devices.map((device) => device.endAsync()), receiver.close()]);
  });

  test('respect the affinity of the process', async () => {
    const only = String(cores[cores.length - 1]);
    gateway = await startGateway(cloud, { gatewayId: 'pin-given', cpus: only });
    const workers = workersOf(gateway.child.pid);
    expect(workers.length).toBe(1);
    expect(workers[0].cores).toBe(only);
  });
});
