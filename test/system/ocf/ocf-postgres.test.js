'use strict';
// The ocf cloud node with its accounts in PostgreSQL, and seganet-accounts beside it.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { cloudFlow } = require('../../fixtures/ocf/gateway-cloud');
const { PASSWORD, TOOLS, startPostgres } = require('../../fixtures/ocf/postgres-server');
const { LIGHT, eventually, scenes } = require('../../fixtures/ocf/scenes');
const { newHome, startFlow } = require('../../fixtures/gateway/deployed');

const { test } = needs(...TOOLS);
jest.setTimeout(240000);
/** A server that starts after a crash takes its time on a busy machine. */
const SLOW_MS = 60000;

const root = path.join(__dirname, '../../..');
const command = path.join(root, 'nodes/lib/ocf/cli/seganet-accounts.js');

let server, url, port, home, flow, gateway;
const { connected } = scenes(() => ({ host: '127.0.0.1', port }));
afterAll(async () => {
  await gateway?.stop();
  await server?.end();
});

/** Runs seganet-accounts with the password in a file. @param {string[]} args @returns {Promise<string>} */
async function accounts(...args) {
  const file = path.join(home, 'pgpass');
  const secret = PASSWORD.replace(/[\\:]/g, '\\$&');
  fs.writeFileSync(file, `127.0.0.1:*:*:*:${secret}\n`, { mode: 0o600 });
  const env = { ...process.env, PGPASSFILE: file };
  const { stdout } = await promisify(execFile)(process.execPath, [command, ...args, '--store', url], { env });
  return stdout.trim();
}
const on = (client, user) => accounts('code', user).then((code) => client.signUp(code));

test('the node asks for a password, and gets it as a credential, which no file of flows and no output shows', async () => {
  server = await startPostgres();
  url = await server.newDatabase();
  [port, home] = [await freePort(), newHome()];
  flow = cloudFlow(home, port, { node: { storeFile: url } });
  gateway = await startFlow(flow, home);
  await eventually(
    () => /asks for a password\. Enter it in the node/.test(gateway.output),
    'the sentence',
    SLOW_MS
  );
  const withPassword = (storePassword) =>
    flow.map((node) => (node.id === 'cloud' ? { ...node, credentials: { storePassword } } : node));
  await gateway.deploy(withPassword('wr0ng'));
  await eventually(() => /password authentication failed/.test(gateway.output), 'the refusal', SLOW_MS);
  await gateway.deploy(withPassword(PASSWORD));
  await waitForPort(port, '127.0.0.1', 30000);
  const flows = fs.readFileSync(path.join(home, 'gateway.json'), 'utf8');
  expect(JSON.parse(flows).find(({ id }) => id === 'cloud').storeFile).toBe(url);
  for (const secret of [PASSWORD, JSON.stringify(PASSWORD).slice(1, -1), 'wr0ng']) {
    expect(flows).not.toContain(secret);
    expect(gateway.output).not.toContain(secret);
  }
});

test('a device signs up, waits out a crash of the server with 5.03 and never 4.01, and signs in again', async () => {
  let device = await connected();
  expect((await on(device, 'alice')).code).toBe('2.04');
  expect((await device.signIn()).code).toBe('2.04');
  await device.publish([LIGHT]);
  await server.stop('SIGKILL');
  const again = async () => {
    device = Object.assign(await connected(), {
      di: device.di,
      uid: device.uid,
      access: device.access,
      refreshToken: device.refreshToken
    });
    return device;
  };
  const answers = [];
  await eventually(
    async () => {
      answers.push((await (await again()).signIn()).code);
      return answers.at(-1) === '5.03';
    },
    'the refusal',
    SLOW_MS
  );
  answers.push((await device.refresh()).code);
  await server.start();
  await eventually(
    async () => {
      answers.push((await (await again()).signIn()).code);
      return answers.at(-1) === '2.04';
    },
    'the sign-in',
    SLOW_MS
  );
  expect([...new Set(answers)].sort()).toEqual(['2.04', '5.03']);
  expect(JSON.parse(await accounts('devices', '--json')).devices).toMatchObject([
    { di: device.di, user: 'alice', links: 1 }
  ]);
  const isBack = () => /is not available.*5\.03[^]*is available again/.test(gateway.output);
  await eventually(isBack, 'the report', SLOW_MS);
});

test('seganet-accounts deletes the device of a running gateway, which closes its connection', async () => {
  const device = await connected();
  await on(device, 'bob');
  expect((await device.signIn()).code).toBe('2.04');
  await accounts('delete', device.di);
  await device.closed;
  await expect(
    promisify(execFile)(process.execPath, [command, 'users', '--store', url], {
      env: { ...process.env, PGPASSFILE: '/none', HOME: '/none' }
    })
  ).rejects.toMatchObject({ code: 3, stderr: expect.stringMatching(/asks for a password/) });
});
