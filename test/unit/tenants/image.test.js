'use strict';
// What the image for tenants has of the packages that are installed.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { packagesOf } = require('../../../docker/tenants/lib/image/packages');
const { NODE, systemFiles } = require('../../../docker/tenants/lib/image/system');

/** @type {string} */
let folder;
beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-i-')));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string} name of a folder @param {object} [manifest] @param {string[]} [files] */
function pack(name, manifest = {}, files = ['index.js']) {
  for (const file of ['package.json', ...files]) {
    fs.mkdirSync(path.dirname(path.join(folder, name, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, name, file), JSON.stringify(manifest));
  }
}
const OWN = {
  files: ['nodes', '!nodes/demo'],
  dependencies: { mqtt: '1' },
  optionalDependencies: { noble: '1' },
  peerDependencies: { kafka: '1', 'node-red': '1' }
};

test('the packages of an installation beside Node-RED find each other as there', () => {
  pack('lib/node_modules/own', OWN, ['nodes/a.js', 'nodes/demo/b.js', 'test/c.js']);
  pack('lib/node_modules/own/node_modules/mqtt', {
    peerDependencies: { ts: '1' },
    peerDependenciesMeta: { ts: { optional: true } }
  });
  pack('lib/node_modules/ts');
  pack('lib/node_modules/node-red', { dependencies: { '@x/y': '1' } }, [
    'red.js',
    'prebuilds/win32-x64/a.node',
    'prebuilds/linux-x64/a.node'
  ]);
  pack('lib/node_modules/@x/y');
  pack('lib/node_modules/other');
  const { files, links, root } = packagesOf(path.join(folder, 'lib/node_modules/own'));
  const modules = '/gateway/node_modules';
  expect([...files.keys()].sort()).toEqual(
    [
      ...[`${modules}/@x/y/index.js`, `${modules}/@x/y/package.json`],
      ...[`${modules}/node-red/package.json`, `${modules}/node-red/red.js`],
      `${modules}/node-red/prebuilds/linux-x64/a.node`,
      ...[`${modules}/own/nodes/a.js`, `${modules}/own/package.json`],
      ...[`${modules}/own/node_modules/mqtt/index.js`, `${modules}/own/node_modules/mqtt/package.json`]
    ].sort()
  );
  expect(files.get(`${modules}/own/nodes/a.js`)).toBe(path.join(folder, 'lib/node_modules/own/nodes/a.js'));
  expect([links.size, root]).toEqual([0, `${modules}/own`]);
});

test('links between packages stay links, and what is optional may be missing', () => {
  pack('own', OWN, ['nodes/a.js']);
  pack('own/node_modules/.store/mqtt@1/node_modules/mqtt', { dependencies: { ws: '1' } });
  pack('own/node_modules/.store/ws@1/node_modules/ws');
  pack('own/node_modules/node-red');
  const link = (/** @type {string} */ from, /** @type {string} */ to) =>
    fs.symlinkSync(to, path.join(folder, 'own/node_modules', from));
  link('mqtt', '.store/mqtt@1/node_modules/mqtt');
  link('.store/mqtt@1/node_modules/ws', '../../ws@1/node_modules/ws');
  const { files, links, root } = packagesOf(path.join(folder, 'own'));
  expect(root).toBe('/gateway');
  expect(Object.fromEntries(links)).toEqual({
    '/gateway/node_modules/mqtt': '.store/mqtt@1/node_modules/mqtt',
    '/gateway/node_modules/.store/mqtt@1/node_modules/ws': '../../ws@1/node_modules/ws'
  });
  expect([...files.keys()]).toContain('/gateway/node_modules/.store/ws@1/node_modules/ws/index.js');
});

test.each(['mqtt', 'node-red'])('without %s there is no image', (missing) => {
  pack('own', OWN, ['nodes/a.js']);
  for (const name of ['mqtt', 'node-red']) if (name !== missing) pack(`own/node_modules/${name}`);
  expect(() => packagesOf(path.join(folder, 'own'))).toThrow(`needs the package ${missing}. Install it`);
});

test("the system below them is this machine's Node, shell and libraries", () => {
  const files = systemFiles();
  expect(files.get(NODE)).toBe(process.execPath);
  expect([...files.keys()].some((name) => /\/libc\.|\/ld-/.test(name))).toBe(true);
  for (const file of files.values()) expect(fs.statSync(file).isFile()).toBe(true);
});
