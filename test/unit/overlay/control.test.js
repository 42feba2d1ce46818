'use strict';
// The gateway's side of the overlay's control socket.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { ControlConnection, MAX_PENDING } = require('../../../nodes/lib/overlay/control-connection');
const { OverlayPorts } = require('../../../nodes/lib/overlay/overlay-ports');
const { OverlayWatch } = require('../../../nodes/lib/overlay/overlay-watch');
const { TestProgram } = require('../../fixtures/overlay/program');

/** @type {TestProgram} */
let program;
/** @type {(() => void)[]} */
let ends;
beforeEach(async () => {
  ends = [];
  program = await new TestProgram().open();
});
afterEach(async () => {
  for (const end of ends) end();
  await program.remove();
});

/** @param {object} [handlers] */
function connect(handlers) {
  const connection = new ControlConnection(program.socket, handlers);
  ends.push(() => connection.close());
  return connection;
}

test('answers belong to their requests, and an error is the sentence of the program', async () => {
  const connection = connect();
  const [status, refused] = await Promise.allSettled([
    connection.request('status'),
    connection.request('fly')
  ]);
  expect(status).toMatchObject({ value: { fqdn: 'gw.plant.seganet.internal' } });
  expect(refused).toMatchObject({ reason: { message: 'The method "fly" is unknown.', code: 'OVERLAY' } });
});

test('a socket that does not exist is explained', async () => {
  await program.close();
  /** @type {Error[]} */
  const lost = [];
  const connection = connect({ onEnd: (/** @type {Error} */ error) => lost.push(error) });
  await expect(connection.request('status')).rejects.toThrow(
    /does not answer at .*control\.sock \(E.*Start seganet-overlay node/
  );
  expect(lost).toHaveLength(1);
  await expect(connection.request('status')).rejects.toThrow('not connected');
});

test.each([
  ['not JSON', 'no json'],
  ['no object', '[1]'],
  ['null', 'null'],
  ['too long', `"${'x'.repeat(1 << 20)}`]
])('a line that is %s ends the connection', async (_, line) => {
  program.answer = () => line;
  await expect(connect().request('status')).rejects.toThrow(
    /is not a control socket of the overlay: it sent a line/
  );
});

test('bytes may arrive in any pieces', async () => {
  const text = `${JSON.stringify({ id: 1, result: { word: 'Größe €' } })}\n`;
  const socket = path.join(program.folder, 'split.sock');
  const server = net.createServer((connection) => {
    connection.on('error', () => {});
    connection.once('data', async () => {
      for (const byte of Buffer.from(text)) {
        connection.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
  });
  await new Promise((resolve) => server.listen(socket, () => resolve(undefined)));
  ends.push(() => server.close());
  const connection = new ControlConnection(socket);
  ends.push(() => connection.close());
  await expect(connection.request('status')).resolves.toEqual({ word: 'Größe €' });
});

test('requests without an answer time out, and their number is bounded', async () => {
  program.answer = () => '';
  const connection = connect();
  await expect(connection.request('status', {}, 20)).rejects.toMatchObject({ code: 'timeout' });
  const waiting = Array.from({ length: MAX_PENDING }, () => connection.request('status'));
  await expect(connection.request('status')).rejects.toMatchObject({ code: 'busy' });
  connection.close();
  for (const each of await Promise.allSettled(waiting)) expect(each.status).toBe('rejected');
});

test('random lines neither throw nor leave a request open', async () => {
  const seed = Date.now() % 100000;
  let state = seed;
  const random = (/** @type {number} */ below) => (state = (state * 48271) % 2147483647) % below;
  const words = [
    '{"id":1',
    ',"result":',
    '{}',
    '}',
    'null',
    '"event":"up"',
    '[',
    ']',
    '\\u0000',
    '\n',
    '{"id":"1"}',
    '1e9',
    ','
  ];
  for (let round = 0; round < 200; round++) {
    const line = Array.from({ length: random(8) }, () => words[random(words.length)]).join('');
    program.answer = () => line;
    const result = await connect()
      .request('status', {}, 30)
      .catch((error) => error);
    expect([seed, round, line, typeof result]).toEqual([seed, round, line, 'object']);
  }
});

test('the watch follows status and events, and comes back after the program was restarted', async () => {
  /** @type {any[]} */
  const seen = [];
  const watch = new OverlayWatch(
    { socket: program.socket, minMs: 5, maxMs: 20, statusMs: 10 },
    {
      onStatus: ({ fqdn }) => seen.at(-1) !== fqdn && seen.push(fqdn),
      onEvent: ({ event }) => seen.push(event),
      onState: (problem) => seen.push(problem.slice(0, 12))
    }
  );
  ends.push(() => watch.close());
  expect(watch.problem).toBeNull();
  watch.open();
  await eventually(() => seen.length >= 2);
  program.tell('{"event":7}');
  program.tell({ event: 'up', peer: { name: 'hub' } });
  await eventually(() => seen.includes('up'));
  expect(watch.malformed).toBe(1);
  await program.close();
  await eventually(() => seen.some((each) => each.startsWith('The overlay')));
  await program.open();
  await eventually(() => seen.at(-1) === 'gw.plant.seganet.internal' && watch.problem === '');
  expect(seen.filter((each) => each === '')).toHaveLength(2);
});

test('a port leads to a destination, is shared, and ends with the connection', async () => {
  const server = net.createServer((connection) => connection.end('hello'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  ends.push(() => server.close());
  program.targets['hub:1883'] = /** @type {net.AddressInfo} */ (server.address()).port;
  program.targets['[fd00::1]:1883'] = program.targets['hub:1883'];
  const ports = new OverlayPorts(program.socket);
  ends.push(() => ports.close());
  const [one, two] = await Promise.all([ports.place('hub', 1883), ports.place('hub', 1883)]);
  expect(two).toEqual(one);
  expect(program.requests).toHaveLength(1);
  await ports.place('fd00::1', 1883);
  const text = await new Promise((resolve) => {
    net.connect(one.port, one.host).setEncoding('utf8').once('data', resolve);
  });
  expect(text).toBe('hello');
  await expect(ports.place('gone', 1883)).rejects.toMatchObject({
    code: 'OVERLAY_DIAL',
    message: 'No node has the name of gone:1883.'
  });
  await program.close();
  await eventually(() => program.ports.size === 0);
  await eventually(async () => (await ports.place('hub', 1883).catch(() => null)) === null);
  await program.open();
  const again = await eventually(() => ports.place('hub', 1883).catch(() => null));
  expect(again.host).toBe('127.0.0.1');
});

test('opens no connection again after its close', async () => {
  program.targets['hub:1883'] = 1;
  const ports = new OverlayPorts(program.socket);
  await ports.place('hub', 1883);
  ports.close();
  await expect(ports.place('hub', 1883)).rejects.toMatchObject({ code: 'OVERLAY_DIAL' });
  await eventually(() => program.connections.size === 0);
  expect(program.requests).toHaveLength(1);
});

test('a place elsewhere than on this machine is refused', async () => {
  const ports = new OverlayPorts(program.socket);
  ends.push(() => ports.close());
  for (const local of ['192.0.2.1:80', '127.0.0.1:0', '127.0.0.1:99999', 'x', undefined]) {
    program.answer = ({ id }) => ({ id, result: { local } });
    await expect(ports.place('hub', 1883)).rejects.toThrow('opened no local port');
  }
});

test('the default folder is that of the program', () => {
  const { stateFolder } = require('../../../nodes/lib/overlay/locations');
  expect(stateFolder('', {}, 0)).toBe('/var/lib/seganet-overlay');
  expect(stateFolder('', { XDG_STATE_HOME: '/s' }, 1000)).toBe('/s/seganet-overlay');
  expect(stateFolder('', {}, 1000)).toBe(path.join(os.homedir(), '.local/state/seganet-overlay'));
  expect(stateFolder('x', {}, 0)).toBe(path.resolve('x'));
  expect(fs.existsSync(program.socket)).toBe(true);
});
