'use strict';

const fs = require('fs');
const path = require('path');
const {
  forgetNodes,
  packagesWithoutNodes,
  removeUnusedNodes,
  unusedCoreNodes
} = require('../../flows/launcher/unused-nodes');
const { ROOT, cleanUp, temporaryFolder } = require('./process');

afterEach(cleanUp);

/** @param {string} folder @param {string} name @param {unknown} content @returns {string} its path */
function write(folder, name, content) {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** @param {unknown} flow @param {string} [folder] @returns {string[]} */
function unused(flow, folder = temporaryFolder()) {
  return unusedCoreNodes(write(folder, 'gateway.json', flow), folder);
}

const FLOW = [{ type: 'tab' }, { type: 'debug' }, { type: 'mqtt in' }, { type: 'link call' }];

test('leaves out the core nodes whose types the flow does not use', () => {
  const files = unused(FLOW);
  expect(files).toEqual(expect.arrayContaining(['10-function.js', '21-httprequest.js', '70-HTML.js']));
  for (const used of ['21-debug.js', '10-mqtt.js', '60-link.js']) expect(files).not.toContain(used);
  // It registers no type, so it is uncertain what needs it.
  expect(files).not.toContain('05-junction.js');
});

test('leaves out nothing when the flow cannot be read', () => {
  expect([unused('torn ['), unused({ flows: [] }), unusedCoreNodes('/none', '/none')]).toEqual([[], [], []]);
  expect(unusedCoreNodes(write(temporaryFolder(), 'f', FLOW), '/none', '/none/x/y/z.js')).toEqual([]);
});

test('leaves out nothing when an installed package or a local file may bring more nodes', () => {
  const local = temporaryFolder();
  fs.mkdirSync(path.join(local, 'nodes'));
  expect(unused(FLOW, local)).toEqual([]);
  const ordinary = temporaryFolder();
  write(ordinary, 'node_modules/a/package.json', { 'node-red': { nodes: { a: 'a.js' } } });
  expect(unused(FLOW, ordinary)).toContain('10-function.js');
  for (const name of ['b', '@scope/b']) {
    const subflow = temporaryFolder();
    write(subflow, `node_modules/${name}/package.json`, { 'node-red': { nodes: { b: 'b.json' } } });
    expect(unused(FLOW, subflow)).toEqual([]);
  }
});

test('names the packages that have nothing for Node-RED, also those beside and above it', () => {
  const [home, folder] = [temporaryFolder(), temporaryFolder()];
  const own = { 'node-red': { nodes: { a: 'a.js' } } };
  const main = write(folder, 'app/node_modules/node-red/lib/red.js', '');
  write(folder, 'app/node_modules/plain/package.json', { name: 'plain' });
  write(folder, 'app/node_modules/@scope/scoped/package.json', {
    name: '@scope/scoped',
    about: '"node-red"'
  });
  write(folder, 'app/node_modules/torn/package.json', '{"node-red":');
  write(folder, 'app/node_modules/nodes/package.json', own);
  write(folder, 'app/node_modules/plugin/package.json', { 'node-red': { plugins: { a: 'a.js' } } });
  write(folder, 'node_modules/above/package.json', { name: 'above' });
  write(home, 'node_modules/of-user/package.json', own);
  write(home, 'node_modules/quiet/package.json', {});
  const names = packagesWithoutNodes(home, main);
  expect(names).toEqual(expect.arrayContaining(['plain', 'scoped', 'torn', 'above', 'quiet']));
  for (const name of ['nodes', 'plugin', 'of-user']) expect(names).not.toContain(name);
});

test('names no package whose folder is named as one that Node-RED needs, or as a file', () => {
  const [home, folder] = [temporaryFolder(), temporaryFolder()];
  const main = write(folder, 'node_modules/node-red/lib/red.js', '');
  // A user's package of the same name has nodes, and this package is in a folder of that name.
  for (const name of ['same', '@scope/same', path.basename(ROOT), 'sql.js'])
    write(folder, `node_modules/${name}/package.json`, { name });
  write(home, 'node_modules/same/package.json', { 'node-red': { nodes: {} } });
  expect(packagesWithoutNodes(home, main)).toEqual(['node-red']);
});

describe('nodes of a package', () => {
  /** A package with three nodes. @param {unknown} flow @param {string} [home] */
  function remaining(flow, home = temporaryFolder()) {
    const folder = temporaryFolder();
    const page = (/** @type {string} */ type) => `<script>RED.nodes.registerType('${type}', {})</script>`;
    for (const name of ['a', 'b']) write(folder, `nodes/${name}.html`, page(name));
    write(folder, 'nodes/c.html', '');
    const nodes = { a: 'nodes/a.js', b: 'nodes/b.js', c: 'nodes/c.js' };
    const file = write(folder, 'package.json', { name: 'own', 'node-red': { nodes } });
    const removed = removeUnusedNodes(file, write(home, 'gateway.json', flow), home);
    return { removed, left: Object.keys(require(file)['node-red'].nodes) };
  }

  test('are removed if the flow does not use them', () => {
    // c registers no type, so it is uncertain what needs it.
    expect(remaining([{ type: 'b' }])).toEqual({ removed: ['a.js'], left: ['b', 'c'] });
    expect(remaining([{ type: 'a' }, { type: 'b' }])).toEqual({ removed: [], left: ['a', 'b', 'c'] });
  });

  test('stay when it is uncertain what the flow needs', () => {
    expect(remaining('torn [').left).toEqual(['a', 'b', 'c']);
    const home = temporaryFolder();
    write(home, 'node_modules/d/package.json', { 'node-red': { nodes: { d: 'd.json' } } });
    expect(remaining([], home).left).toEqual(['a', 'b', 'c']);
    expect(removeUnusedNodes('/none/package.json', '/none', '/none')).toEqual([]);
  });
});

test("forgets them in Node-RED's list, but keeps disabled ones and other packages", () => {
  const folder = temporaryFolder();
  const node = (/** @type {string} */ file, enabled = true) => ({ enabled, file: `/x/${file}` });
  const modules = (/** @type {object} */ nodes) => ({
    'node-red': { nodes },
    other: { nodes: { a: node('a.js') } }
  });
  const list = write(
    folder,
    '.config.nodes.json',
    modules({ mqtt: node('10-mqtt.js'), exec: node('90-exec.js'), html: node('70-HTML.js', false) })
  );
  forgetNodes(folder, ['90-exec.js', '70-HTML.js', 'a.js']);
  const after = JSON.parse(fs.readFileSync(list, 'utf8'));
  expect(after).toEqual(modules({ mqtt: node('10-mqtt.js'), html: node('70-HTML.js', false) }));
  forgetNodes(folder, ['a.js'], 'other');
  expect(JSON.parse(fs.readFileSync(list, 'utf8')).other).toEqual({ nodes: {} });
  write(folder, '.config.nodes.json', 'torn');
  forgetNodes(folder, ['90-exec.js']);
  expect(fs.readFileSync(list, 'utf8')).toBe('torn');
});

test('starts although the list cannot be written', () => {
  const folder = temporaryFolder();
  const text = JSON.stringify({ 'node-red': { nodes: { exec: { enabled: true, file: '/x/90-exec.js' } } } });
  const list = write(folder, '.config.nodes.json', text);
  jest.spyOn(fs, 'renameSync').mockImplementation(() => {
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  });
  try {
    expect(() => forgetNodes(folder, ['90-exec.js'])).not.toThrow();
  } finally {
    jest.restoreAllMocks();
  }
  expect(fs.readFileSync(list, 'utf8')).toBe(text);
});
