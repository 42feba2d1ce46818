'use strict';
// notify(): datagrams to a Unix socket, as a service manager receives them.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { notify } = require('../../native');
const { Child } = require('../../bench/harness/child');
const { needs } = require('../../bench/harness/tools');

const script = path.join(__dirname, '../fixtures/gateway/notify-socket.py');
const { describe: withPython } = needs('python3');

/** @type {string} */
let folder;
/** @type {Child[]} */
const children = [];
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-notify-'))));
afterEach(async () => {
  for (const child of children.splice(0)) await child.stop('SIGKILL');
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {string} address @param {string[]} more */
async function receiver(address, ...more) {
  const child = new Child('python3', [script, address, ...more]);
  children.push(child);
  await child.until((output) => output.includes('"bound"'));
  return child;
}

/** @param {Child} child @returns {string[]} */
const received = (child) =>
  child.output
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line));

withPython('a receiver', () => {
  test.each([
    ['a path', () => path.join(folder, 'notify')],
    ['a path of 107 bytes', () => path.join(folder, 'n'.repeat(106 - folder.length))],
    ['an abstract name', () => `@seganet-${path.basename(folder)}`],
    ['an abstract name of 107 bytes', () => `@${path.basename(folder).padEnd(106, 'x')}`]
  ])('gets whole messages at %s', async (_what, addressOf) => {
    const address = addressOf();
    const child = await receiver(address);
    const long = 'x'.repeat(4096);
    for (const message of ['READY=1\nSTATUS=grün', 'WATCHDOG=1', long]) notify(address, message);
    await child.until(() => received(child).length === 3);
    expect(received(child)).toEqual(['READY=1\nSTATUS=grün', 'WATCHDOG=1', long]);
  });

  test('whose queue is full does not block the sender: EAGAIN', async () => {
    const address = path.join(folder, 'notify');
    await receiver(address, 'deaf');
    let sent = 0;
    const fill = () => {
      for (; sent < 100000; sent++) notify(address, 'WATCHDOG=1');
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'EAGAIN' }));
    expect(sent).toBeGreaterThan(0);
  });

  test('that has ended is reported: ECONNREFUSED', async () => {
    const address = path.join(folder, 'notify');
    await (await receiver(address)).stop('SIGKILL');
    expect(() => notify(address, 'READY=1')).toThrow(expect.objectContaining({ code: 'ECONNREFUSED' }));
  });
});

test('a missing receiver is reported: ENOENT', () => {
  expect(() => notify(path.join(folder, 'nobody'), 'READY=1')).toThrow(
    expect.objectContaining({ code: 'ENOENT' })
  );
});

test('does not use up descriptors', () => {
  const count = () => fs.readdirSync('/proc/self/fd').length;
  const before = count();
  for (let i = 0; i < 200; i++)
    expect(() => notify(path.join(folder, 'nobody'), 'READY=1')).toThrow(/notified/);
  expect(count()).toBeLessThanOrEqual(before + 2);
});

test.each([
  ['no address', [], /address/],
  ['a number', [1, 'READY=1'], /address/],
  ['an empty address', ['', 'READY=1'], /absolute path or begin with @/],
  ['a relative path', ['notify', 'READY=1'], /absolute path or begin with @/],
  ['a path of 108 bytes', [`/${'x'.repeat(107)}`, 'READY=1'], /at most 107 bytes/],
  ['a NUL', ['/a\0b', 'READY=1'], /no NUL/],
  ['no message', ['/a'], /message/],
  ['an empty message', ['/a', ''], /1 to 4096 bytes/],
  ['a message of 4097 bytes', ['/a', 'x'.repeat(4097)], /1 to 4096 bytes/]
])('refuses %s', (_what, args, reason) => {
  const call = () => /** @type {any} */ (notify)(...args);
  expect(call).toThrow(expect.objectContaining({ name: 'TypeError' }));
  expect(call).toThrow(reason);
});
