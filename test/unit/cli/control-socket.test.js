'use strict';

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { until } = require('../../../bench/harness/broker');
const { ControlSocket, SOCKET } = require('../../../flows/service/control-socket');

/** @type {string} */
let home;
/** @type {ControlSocket} */
let socket;
/** Time that a copy takes. */
let copyMs = 0;
let copies = 0;
let most = 0;

beforeEach(async () => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-control-'));
  for (const name of ['log.db', 'commands.db']) fs.writeFileSync(path.join(home, name), name);
  copies = most = 0;
  const copy = async (/** @type {string} */ file) => {
    most = Math.max(most, ++copies);
    await sleep(copyMs);
    fs.writeFileSync(file, Buffer.alloc(3_000_000, 'x'));
    copies--;
    return true;
  };
  const report = (/** @type {string} */ sentence) => {
    throw new Error(sentence);
  };
  const engine = { id: 'gw', directory: home, log: copy, commands: copy };
  const why = async (/** @type {string} */ name) => [{ node: 'n1', text: `Nothing of ${name} waits.` }];
  const ask = async (/** @type {string} */ kind, /** @type {object} */ asked) => ({
    status: 200,
    text: JSON.stringify({ kind, ...asked })
  });
  socket = new ControlSocket({ home, state: () => ({}), engines: () => [engine], why, ask, report });
  await socket.open();
});

afterEach(() => {
  socket.close();
  fs.rmSync(home, { recursive: true });
});

/** @param {string} name of a database @returns {Promise<{ status?: number, body: Buffer }>} */
const ask = (name) => get(`/engines/gw/${name}`);

/** @param {string} address @param {string} [body] of a POST @returns {Promise<{ status?: number, body: Buffer }>} */
function get(address, body) {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const options = { socketPath: path.join(home, SOCKET), path: address, agent: false, method };
    const request = http.request(options, async (response) => {
      const parts = [];
      for await (const part of response) parts.push(part);
      resolve({ status: response.statusCode, body: Buffer.concat(parts) });
    });
    request.once('error', reject);
    request.end(body);
  });
}

test('asks a node with a text of bounded length', async () => {
  const { status, body } = await get('/nodes/shadow/set?device=a%2Fb', '{"é":1}');
  expect({ status, ...JSON.parse(body.toString()) }).toEqual({
    status: 200,
    kind: 'shadow',
    verb: 'set',
    params: { device: 'a/b' },
    text: '{"é":1}'
  });
  for (const more of [1, 4 << 20])
    expect((await get('/nodes/shadow/set?device=a', 'x'.repeat((1 << 20) + more))).status).toBe(400);
  expect((await get('/nodes/shadow/get?device=a')).status).toBe(404);
  expect((await get('/status', '')).status).toBe(405);
});

test('gives one database after the other to a client that does not pause', async () => {
  copyMs = 0;
  for (let i = 0; i < 8; i++) {
    for (const name of ['log.db', 'commands.db']) {
      const { status, body } = await ask(name);
      expect({ status, bytes: body.length }).toEqual({ status: 200, bytes: 3_000_000 });
    }
  }
});

test('asks the nodes why something waits, for a name of bounded length', async () => {
  const { status, body } = await get('/why/ac%20me');
  expect({ status, ...JSON.parse(body.toString()) }).toEqual({
    status: 200,
    answers: [{ node: 'n1', text: 'Nothing of ac me waits.' }]
  });
  for (const address of ['/why', '/why/', `/why/${'a'.repeat(65)}`])
    expect((await get(address)).status).toBe(404);
});

test('makes one copy at a time', async () => {
  copyMs = 100;
  const answers = await Promise.all([ask('log.db'), ask('commands.db')]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(most).toBe(1);
});

test('refuses another backup while a long one is being made, and takes the next one', async () => {
  copyMs = 4000;
  const long = ask('log.db');
  await sleep(50);
  const { status, body } = await ask('log.db');
  expect({ status, error: JSON.parse(body.toString()).error }).toEqual({
    status: 409,
    error: 'Another backup is being made.'
  });
  expect((await long).status).toBe(200);
  copyMs = 0;
  expect((await ask('log.db')).status).toBe(200);
}, 20000);

test('takes the next backup after a client that left during the copy', async () => {
  copyMs = 300;
  const options = { socketPath: path.join(home, SOCKET), path: '/engines/gw/log.db', agent: false };
  const left = http.get(options).on('error', () => {});
  await sleep(100);
  left.destroy();
  await sleep(copyMs);
  expect(await ask('log.db')).toMatchObject({ status: 200 });
  // The copy is removed after the client has all of it.
  const rest = () => fs.readdirSync(home).filter((name) => name.startsWith('backup-'));
  await until(() => rest().length === 0);
});
