'use strict';
// npm run tenants, for real: a front, a keeper, two tenants and their devices in processes and on sockets.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { freePort } = require('../../bench/harness/net');
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

const MAIN = 'flows/demo/tenants/main.js';
const START_MS = 60000;

/** @param {string[]} args @param {Record<string, string>} [env] */
function tenants(args, env) {
  return run(process.execPath, [MAIN, ...args], { env: cleanEnvironment(env) });
}

/**
 * @param {number} port
 * @param {string} tenant
 * @param {string} password
 * @returns {Promise<{ status: number, text: string }>}
 */
function page(port, tenant, password) {
  const auth = `${tenant}/alice:${password}`;
  return new Promise((resolve, reject) => {
    const request = http.get(
      {
        port,
        host: '127.0.0.1',
        path: '/values',
        auth,
        headers: { host: `${tenant}.localhost` },
        agent: false
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      }
    );
    request.on('error', reject);
  });
}

/** All descendants of a process. @param {number} pid @returns {number[]} */
const family = (pid) => childrenOf(pid).flatMap((child) => [child, ...family(child)]);

test('prints its help', async () => {
  const { code, output } = await tenants(['--help']).ended;
  expect(code).toBe(0);
  expect(output).toMatch(/--pages-port N/);
});

test.each([
  [['--port', '0'], /--port takes a whole number from 1 to 65535/],
  [['--devices', '101'], /--devices takes a whole number from 1 to 100/],
  [['--speed', '1'], /--speed/],
  [['--port', '5000', '--pages-port', '5000'], /must differ/]
])('refuses %j', async (args, sentence) => {
  const { code, output } = await tenants(args).ended;
  expect(code).toBe(2);
  expect(output).toMatch(sentence);
});

test('says which port is taken', async () => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = /** @type {net.AddressInfo} */ (other.address());
  try {
    const { code, output } = await tenants(['--port', `${port}`]).ended;
    expect(code).toBe(1);
    expect(output).toMatch(`Port ${port} is taken`);
  } finally {
    other.close();
  }
});

test('wakes tenants by records and by a page, lets them sleep, and ends with code 0', async () => {
  const folder = temporaryFolder();
  const [port, editorPort, pagesPort] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--editor-port', `${editorPort}`, '--pages-port', `${pagesPort}`];
  const { says, child, ended } = tenants([...ports, '--devices', '2', '--sleep', '1'], { TMPDIR: folder });
  const [, alice] = await says(/acme\/alice: (\S+?)\)/, START_MS);
  for (const tenant of ['acme', 'beta']) {
    await says(new RegExp(`${tenant}: its first record is acknowledged after \\d+ ms`), START_MS);
    await says(new RegExp(`${tenant}: ready after [\\d.]+ s \\(start\\)`), START_MS);
    await says(
      new RegExp(`${tenant}: room 102 has 2\\d(\\.\\d)? °C, answered in \\d+ ms \\(pump-2: `),
      START_MS
    );
    await says(
      new RegExp(`${tenant}: sleeps. Wake it again:\\s+mosquitto_pub .* -u ${tenant}/pump-1 `),
      START_MS
    );
  }
  expect((await page(pagesPort, 'acme', 'wrong')).status).toBe(401);
  expect((await page(pagesPort, 'beta', alice)).status).toBe(401);
  let answer = await page(pagesPort, 'acme', alice);
  // A slow machine may need more than the 10 s for which a request waits.
  if (answer.status === 503) answer = await page(pagesPort, 'acme', alice);
  expect(answer).toEqual({ status: 200, text: expect.stringContaining('<h1>Tenant acme</h1>') });
  expect(answer.text).toContain('You are alice.');
  await says(/acme: woken by connection/);
  const all = family(Number(child.pid));
  expect(all.length).toBeGreaterThan(2);
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
  expect(await accepts(port)).toBe(false);
  expect(all.filter(isAlive)).toEqual([]);
  expect(fs.readdirSync(folder)).toEqual([]);
});

describe('seganet-tenants demo', () => {
  const COMMAND = path.join(__dirname, '..', '..', 'docker', 'tenants', 'main.js');

  test('is this demo, with its options, its signals and its exit code', async () => {
    const help = await run(process.execPath, [COMMAND, 'demo', '--help']).ended;
    expect(help).toMatchObject({ code: 0, output: expect.stringMatching(/--pages-port N/) });
    const wrong = await run(process.execPath, [COMMAND, 'demo', '--devices', '101']).ended;
    expect(wrong).toMatchObject({
      code: 2,
      output: expect.stringMatching(/--devices takes a whole number from 1 to 100/)
    });
    const [port, editorPort, pagesPort] = [await freePort(), await freePort(), await freePort()];
    const ports = ['--port', `${port}`, '--editor-port', `${editorPort}`, '--pages-port', `${pagesPort}`];
    const env = cleanEnvironment({ TMPDIR: temporaryFolder() });
    const { says, child, ended } = run(process.execPath, [COMMAND, 'demo', ...ports, '--devices', '1'], {
      env
    });
    await says(/The front is ready/, START_MS);
    const all = family(Number(child.pid));
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    expect(all.filter(isAlive)).toEqual([]);
  });
});

test('leaves no process behind, even after kill -9', async () => {
  const folder = temporaryFolder();
  const [port, editorPort, pagesPort] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--editor-port', `${editorPort}`, '--pages-port', `${pagesPort}`];
  const { says, child } = tenants([...ports, '--devices', '1'], { TMPDIR: folder });
  await says(/acme: ready after/, START_MS);
  const all = family(Number(child.pid));
  child.kill('SIGKILL');
  await until(() => !all.some(isAlive), { within: 40000, what: 'the end of all processes' });
  const [home] = fs.readdirSync(folder);
  expect(fs.existsSync(path.join(folder, home, 'tenants', 'keeper.sock'))).toBe(false);
  // A tenant is no newcomer's gateway.
  const volume = path.join(folder, home, 'tenants', 'volumes', 'acme');
  expect(fs.existsSync(path.join(volume, 'gateway.json'))).toBe(true);
  expect(fs.existsSync(path.join(volume, 'demo'))).toBe(false);
});
