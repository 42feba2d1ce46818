'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { TenantsFile } = require('../../../nodes/lib/tenants/file/tenants-file');
const { keeperSocket, tenantsFile } = require('../../../nodes/lib/tenants/file/locations');

/** @type {string} */
let folder;
/** @type {TenantsFile[]} */
let opened = [];
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenants-'))));
afterEach(() => {
  for (const file of opened) file.close();
  opened = [];
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {...object} tenants */
function write(...tenants) {
  const text = JSON.stringify({
    version: 1,
    tenants: tenants.map((each) => ({ driver: 'process', ...each }))
  });
  replace(text);
}

/** @param {string} text */
function replace(text) {
  fs.writeFileSync(path.join(folder, 'new'), text);
  fs.renameSync(path.join(folder, 'new'), path.join(folder, 'tenants.json'));
}

function open(changed = () => {}) {
  const copy = path.join(folder, 'engine', 'copy.json');
  const file = new TenantsFile({ file: path.join(folder, 'tenants.json'), copy, changed, checkMs: 10 });
  opened.push(file);
  file.open();
  return file;
}

test('reads names and limits, and leaves out tenants without MQTT', () => {
  write(
    { name: 'acme', limits: { rate: 5, waitingMiB: 7 } },
    { name: 'b' },
    { name: 'c', port: 0, http: 80 }
  );
  expect(open()).toMatchObject({
    problem: '',
    tenants: [
      { name: 'acme', rate: 5, waitingMiB: 7 },
      { name: 'b', rate: 0, waitingMiB: 64 }
    ]
  });
});

test('reports each change once, and keeps the last valid file', async () => {
  write({ name: 'acme' });
  const changes = jest.fn();
  const file = open(changes);
  write({ name: 'acme' }, { name: 'b' });
  await eventually(() => file.tenants.length === 2);
  replace('{');
  await eventually(() => file.problem !== '');
  expect(file.problem).toMatch(/^The tenants file .* is not used\. The file is not JSON .* stays in use\.$/);
  expect(file.tenants).toHaveLength(2);
  fs.rmSync(path.join(folder, 'tenants.json'));
  await eventually(() => file.problem.includes('(ENOENT)'));
  expect(file.tenants).toHaveLength(2);
  write({ name: 'b' });
  await eventually(() => file.problem === '');
  expect(file.tenants).toEqual([{ name: 'b', rate: 0, waitingMiB: 64 }]);
  expect(changes).toHaveBeenCalledTimes(4);
});

test('starts with the last valid tenants when the file is missing', () => {
  expect(open()).toMatchObject({ tenants: [], isCopy: false, problem: expect.stringContaining('(ENOENT)') });
  write({ name: 'acme', limits: { waitingMiB: 3 }, http: 8080 }, { name: 'c', port: 0, http: 80 });
  open();
  fs.rmSync(path.join(folder, 'tenants.json'));
  const copied = open();
  expect(copied).toMatchObject({ tenants: [{ name: 'acme', rate: 0, waitingMiB: 3 }], isCopy: true });
  expect([...copied.pages]).toEqual([
    ['acme', 8080],
    ['c', 80]
  ]);
});

test('finds the file and the socket by the environment', () => {
  const env = { SEGANET_HOME: '/home/gw' };
  expect(tenantsFile('', env)).toBe('/home/gw/tenants/tenants.json');
  expect(keeperSocket('', env)).toBe('/home/gw/tenants/keeper.sock');
  expect(keeperSocket('', { SEGANET_TENANTS_SOCKET: '/run/k.sock' })).toBe('/run/k.sock');
  expect(tenantsFile('', { SEGANET_TENANTS: '/etc/t.json' })).toBe('/etc/t.json');
  expect(tenantsFile('/x', env)).toBe('/x');
});
