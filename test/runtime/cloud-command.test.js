'use strict';
// npm run cloud, for real: a gateway, a lamp and a controller in child processes and on sockets.

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { freePort } = require('../../bench/harness/net');
const { Client } = require('../../flows/demo/ocf/client');
const { logIn } = require('../fixtures/ocf/login');
const {
  accepts,
  childrenOf,
  cleanEnvironment,
  cleanUp,
  isAlive,
  run,
  temporaryFolder,
  until
} = require('./process');

jest.setTimeout(120000);
afterEach(cleanUp);

const MAIN = 'flows/demo/ocf/main.js';
const START_MS = 60000;

/** @param {string[]} args @param {Record<string, string>} [env] */
function cloud(args, env) {
  return run(process.execPath, [MAIN, ...args], { env: cleanEnvironment(env) });
}

/** @param {Record<string, string>} [env] */
async function startCloud(env) {
  const [port, editorPort, loginPort] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--editor-port', `${editorPort}`, '--login-port', `${loginPort}`];
  const started = cloud([...ports, '--every', '1'], env);
  await started.says(/notification 1: the lamp is on/, START_MS);
  return { ...started, port, output: () => started.output };
}

test('prints its help', async () => {
  const { code, output } = await cloud(['--help']).ended;
  expect(code).toBe(0);
  expect(output).toMatch(/--editor-port N/);
  expect(output).toMatch(/SEGANET_KAFKA/);
});

test.each([
  [['--port', '0'], {}, /--port takes a whole number from 1 to 65535/],
  [['--every', 'often'], {}, /--every takes a whole number/],
  [['--speed', '1'], {}, /--speed/],
  [['--port', '5000', '--editor-port', '5000'], {}, /must differ/],
  [[], { SEGANET_KAFKA: '/opt/kafka' }, /SEGANET_KAFKA must be host:port/]
])('refuses %j with %j', async (args, env, sentence) => {
  const { code, output } = await cloud(args, /** @type {any} */ (env)).ended;
  expect(code).toBe(2);
  expect(output).toMatch(sentence);
});

test('says which port is taken', async () => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = /** @type {net.AddressInfo} */ (other.address());
  try {
    const { code, output } = await cloud(['--port', `${port}`]).ended;
    expect(code).toBe(1);
    expect(output).toMatch(`Port ${port} is taken`);
    expect(output).toMatch('--port');
  } finally {
    other.close();
  }
});

test('lets a device of alice in with the printed code, shows notifications, and ends with code 0', async () => {
  const folder = temporaryFolder();
  const { port, output, child, ended, says } = await startCloud({ TMPDIR: folder });
  const [, code] = await says(/access code +(\S+)/);
  const client = await Client.open({ host: '127.0.0.1', port });
  expect((await client.signUp(code)).code).toBe('2.04');
  expect((await client.signIn()).code).toBe('2.04');
  // A code of the login page is one of the same alice; bob is another user.
  const [, page, alice, bob] = await says(/more codes +(\S+)\/ +\(log in as alice: (\S+), or bob: (\S+)\)/);
  const [second, other] = [
    await Client.open({ host: '127.0.0.1', port }),
    await Client.open({ host: '127.0.0.1', port })
  ];
  expect((await second.signUp(await logIn(page, 'alice', alice))).value.uid).toBe(client.uid);
  expect((await other.signUp(await logIn(page, 'bob', bob))).code).toBe('2.04');
  expect(other.uid).not.toBe(client.uid);
  for (const each of [second, other]) each.destroy();
  const { value } = await client.request('GET', '/oic/res', { query: ['rt=core.light'] });
  expect(value).toHaveLength(1);
  client.destroy();
  await says(/notification 2: the lamp is off/);
  expect(output()).not.toMatch(/error/i);
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
  expect(await accepts(port)).toBe(false);
  expect(fs.readdirSync(folder)).toEqual([]);
});

test('keeps cloud id and accounts in SEGANET_HOME, and its gateway ends with it, even after kill -9', async () => {
  const SEGANET_HOME = temporaryFolder();
  const first = await startCloud({ SEGANET_HOME });
  const [, sid] = await first.says(/cloud id +(\S+)/);
  const [gateway] = childrenOf(Number(first.child.pid));
  first.child.kill('SIGKILL');
  await until(() => !isAlive(gateway), { within: 30000, what: 'the end of the gateway' });
  const second = await startCloud({ SEGANET_HOME });
  expect((await second.says(/cloud id +(\S+)/))[1]).toBe(sid);
  expect(fs.existsSync(path.join(SEGANET_HOME, 'cloud', 'ocf.db'))).toBe(true);
  second.child.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});
