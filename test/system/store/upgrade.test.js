'use strict';
// A gateway starts in the folder of an earlier one: its flow, its credentials and the records that wait in its log.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { startMosquitto } = require('../../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { Receiver } = require('../../fixtures/devices/device');
const { startGateway } = require('../../runtime/gateway');
const { temporaryFolder, until, cleanUp } = require('../../runtime/process');

const HOMES = path.join(__dirname, '../..', 'fixtures', 'gateway', 'homes');
const COMMITS = fs.readdirSync(HOMES).flatMap((name) => /^(\w+)\.tgz$/.exec(name)?.[1] ?? []);
const LOGIN = { username: 'gateway-7', password: 'river stone' };
const DEVICES = ['pump-1', 'pump-2', 'valve-3'];
const EACH = 40;

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cleanUp();
});

/** A broker that only accepts the user of the earlier flow. @returns {Promise<number>} its port */
async function startBroker() {
  const folder = temporaryFolder();
  const passwords = path.join(folder, 'passwords');
  fs.writeFileSync(passwords, '');
  execFileSync('mosquitto_passwd', ['-b', passwords, LOGIN.username, LOGIN.password], { stdio: 'pipe' });
  const port = await freePort();
  const broker = startMosquitto(folder, 'broker', [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous false',
    `password_file ${passwords}`
  ]);
  ends.push(() => broker.stop());
  await waitForPort(port, '127.0.0.1', 10000, () => Boolean(broker.exit));
  return port;
}

const { test } = needs('mosquitto', 'mosquitto_passwd');

test.each(COMMITS)(
  'the records of a gateway of %s reach the cloud with its login, in order',
  async (commit) => {
    const port = await startBroker();
    const url = `mqtt://127.0.0.1:${port}`;
    await expect(mqtt.connectAsync(url, { reconnectPeriod: 0 })).rejects.toThrow(/Not authorized/);
    const client = await mqtt.connectAsync(url, LOGIN);
    ends.push(() => client.endAsync(true));
    const receiver = new Receiver(client);
    await client.subscribeAsync('#', { qos: 1 });

    const home = temporaryFolder();
    execFileSync('tar', ['-xzf', path.join(HOMES, `${commit}.tgz`), '-C', home]);
    const { editor, gateway } = await startGateway({
      SEGANET_HOME: home,
      SEGANET_GATEWAY_ID: 'gw-old',
      SEGANET_UPLINK_URL: url
    });
    const values = (device, recordClass) =>
      receiver
        .records()
        .filter(({ d, c }) => d === device && (c === 1) === (recordClass === 1))
        .map(({ p }) => p.n);
    const all = Array.from({ length: EACH }, (_, i) => i + 1);
    await until(() => receiver.records().length >= DEVICES.length * EACH, {
      within: 30000,
      what: () => `all records, not ${receiver.records().length}:\n${gateway.output}`
    });
    for (const device of DEVICES) {
      expect(values(device, 1)).toEqual([20, 40]);
      expect(values(device, 3)).toEqual(all.filter((n) => n % 20 !== 0));
    }

    // The edited flow is kept as it was, and none of its nodes has a wrong setting.
    const flows = await (await fetch(`${editor}flows`)).json();
    expect(flows.find(({ id }) => id === 'seganet-c-path').name).toBe('Edited by the integrator');
    const ready = await (await fetch(`${editor}seganet/readyz`)).json();
    expect(ready).toMatchObject({ ok: true });
    expect(gateway.output).not.toMatch(/error|wrong|not be used/i);

    // It takes new records.
    const [, devicePort] = await gateway.says(/MQTT listener on port (\d+)/);
    const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${devicePort}`, {
      clientId: 'pump-1'
    });
    await device.publishAsync('d/pump-1/t', '{"n":41}', { qos: 1 });
    await device.endAsync();
    await receiver.record(({ d, p }) => d === 'pump-1' && p.n === 41, 20000);
  },
  120000
);
