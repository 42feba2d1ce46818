'use strict';
// The gateway's side of the radio's process, with processes that end abnormally.

const { fork } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { BleProcess } = require('../../../nodes/lib/sources/ble/ble-process');
const { schema, toSettings } = require('../../../nodes/lib/sources/ble/ble-settings');
const { parseOptions } = require('../../../nodes/lib/base/options');

const settings = toSettings(parseOptions({}, schema).values);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ble-'));
/** @type {BleProcess} */
let radio;
afterEach(() => radio.stop());
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string} script of the process; `say` sends to the gateway @param {string} [file] */
function open(
  script,
  file = 'child.js',
  ends = "process.on('message', ({ stop }) => stop && process.exit(0));"
) {
  const whole = path.join(folder, file);
  fs.mkdirSync(path.dirname(whole), { recursive: true });
  if (script) fs.writeFileSync(whole, `const say = (m) => process.send(m);\n${ends}\n${script}`);
  const start = () =>
    fork(whole, [], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] });
  radio = new BleProcess(settings, { start, restartMinMs: 20 });
  return radio;
}
const once = (event) => new Promise((resolve) => radio.once(event, (...args) => resolve(args)));

test('is started again when it throws, and the reason is reported', async () => {
  open("process.on('message', () => { throw new RangeError('one byte'); })");
  const [first] = await once('state');
  const [second] = await once('state');
  expect([first, second]).toEqual(Array(2).fill({ state: 'died', reason: 'RangeError: one byte' }));
});

test('releases its devices and commands when it is killed', async () => {
  open(
    "process.on('message', ({ write }) => write ? process.kill(process.pid, 'SIGKILL') : say({ linked: ['aa', true] }))"
  );
  await once('linked');
  const lost = once('linked');
  expect(await radio.write('bb', '2a39', Buffer.alloc(1))).toBe('offline');
  expect(await radio.write('aa', '2a39', Buffer.alloc(1))).toBe('timeout');
  expect(await lost).toEqual(['aa', false]);
  expect([...radio.linked]).toEqual([]);
});

test('gets back the credit of accepted events, in groups', async () => {
  open(`process.on('message', (m) => {
    const payload = Buffer.from('x');
    if (m.start) say({ records: [1, 2, 3].map((ts) => ({ deviceId: 'd', topic: 't', payload, ts })) });
    else say({ state: 'credit ' + m.credit, reason: '' });
  })`);
  const payloads = [];
  radio.on('record', ({ payload }, taken) => {
    payloads.push(payload);
    taken();
  });
  expect(await once('state')).toEqual([{ state: 'credit 3', reason: '' }]);
  expect(payloads.every((payload) => Buffer.isBuffer(payload) && String(payload) === 'x')).toBe(true);
});

test('is killed at the end when it does not respond', async () => {
  open("process.on('message', () => {}); say({ state: 'poweredOn', reason: '' })", 'deaf.js', '');
  await once('state');
  const { pid } = /** @type {any} */ (radio).child;
  await radio.stop();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('reports that noble is missing', async () => {
  // The same files in a place where no package can be found.
  fs.cpSync(path.join(__dirname, '../../../nodes/lib'), path.join(folder, 'lib'), { recursive: true });
  open('', 'lib/sources/ble/ble-child.js');
  const [{ state, reason }] = await once('state');
  expect(state).toBe('missing');
  expect(reason).toMatch(/@stoprocent\/noble/);
});
