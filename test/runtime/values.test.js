'use strict';
// The last values of a real gateway: over a stop, a kill -9 and a wrong setting, and with the permission of the page.

const path = require('node:path');
const mqtt = require('mqtt');
const { LOGIN, startGateway } = require('./gateway');
const { cleanUp, temporaryFolder, until } = require('./process');
const { freePort } = require('../../bench/harness/net');

jest.setTimeout(120000);
afterEach(cleanUp);

/** @param {Record<string, string>} env */
async function start(env) {
  const port = await freePort();
  const { editor, gateway } = await startGateway({ SEGANET_MQTT_PORT: String(port), ...env });
  await gateway.says(/devices: MQTT listener on port/);
  const publish = async (/** @type {string} */ topic, /** @type {string} */ payload) => {
    const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'pump-1' });
    await device.publishAsync(topic, payload, { qos: 1 });
    await device.endAsync(true);
  };
  const shown = async () => {
    const { values = [] } = await (await fetch(`${editor}seganet/values?device=pump-1`)).json();
    return values
      .map(({ topic, payload, restored }) => `${topic}=${payload}${restored ? '*' : ''}`)
      .join(' ');
  };
  return { editor, gateway, publish, shown };
}

test('are there after a stop, and those of the last file after kill -9', async () => {
  const env = {
    SEGANET_HOME: path.join(temporaryFolder(), 'home'),
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1'
  };
  const first = await start(env);
  await first.publish('temp', '21');
  await first.publish('state', 'on');
  expect(await first.shown()).toBe('state=on temp=21');
  first.gateway.child.kill('SIGTERM');
  await first.gateway.ended;

  const second = await start(env);
  await until(async () => (await second.shown()) === 'state=on* temp=21*', { what: 'the restored values' });
  await second.publish('temp', '22');
  expect(await second.shown()).toBe('state=on* temp=22');
  second.gateway.child.kill('SIGKILL');
  await second.gateway.ended;

  const third = await start(env);
  await until(async () => (await third.shown()) === 'state=on* temp=21*', { what: 'the values of the file' });
  // The device has not been heard in this run.
  const agents = await fetch(`${third.editor}seganet/engines/seganet-engine-1/agents`);
  expect((await agents.json()).agents).toEqual([]);
});

test('need the permission of the page, and are off with SEGANET_VALUES=off', async () => {
  const { editor } = await start({ ...LOGIN, SEGANET_VALUES: 'off' });
  for (const file of ['values', 'topics', 'values/stream'])
    expect([file, (await fetch(`${editor}seganet/${file}`)).status]).toEqual([file, 401]);
  const form = {
    client_id: 'node-red-admin',
    grant_type: 'password',
    scope: 'seganet.read',
    username: 'admin'
  };
  const login = await fetch(`${editor}auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...form, password: 'scrape me' })
  });
  const { access_token: token } = await login.json();
  const response = await fetch(`${editor}seganet/values`, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, (await response.json()).error]).toEqual([
    404,
    expect.stringMatching(/keeps no last values/)
  ]);
});
