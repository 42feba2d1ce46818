'use strict';
// A Node that is too old: every command and every node of the palette says so in a sentence.

const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { VERSION, fetchedNode } = require('../../native/node/fetch-node');
const { MINIMUM, isNewEnough } = require('../../native/node/node-version');
const manifest = require('../../package.json');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);
jest.setTimeout(60_000);

/** @returns {string} a Node of this machine that is too old, '' = there is none */
function findOldNode() {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  const nodes = folders.map((folder) => path.join(folder, 'node')).filter((file) => fs.existsSync(file));
  const isOld = (/** @type {string} */ file) => {
    const version = String(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout).trim();
    return /^v\d+\.\d+\.\d+$/.test(version) && !isNewEnough(version.slice(1));
  };
  return [process.env.SEGANET_OLD_NODE ?? '', ...nodes].filter(Boolean).find(isOld) ?? '';
}

const oldNode = findOldNode();
if (!oldNode)
  console.warn(`Skipped: no Node before ${MINIMUM.join('.')} is in PATH or is named by SEGANET_OLD_NODE.`);
/** The Node that the launcher fetches, '' = it has not. */
const fetched = process.version === `v${VERSION}` ? process.execPath : fetchedNode(process.env);
/** @type {jest.It} */
const withOldNode = oldNode ? test : test.skip;

/** Commands of all packages of the checkout, by name. @type {[string, string][]} */
const COMMANDS = ['.', ...manifest.workspaces].flatMap((folder) => {
  const { bin = {} } = require(path.join(ROOT, folder, 'package.json'));
  return Object.entries(bin).map(
    ([name, file]) => /** @type {[string, string]} */ ([name, path.join(folder, file)])
  );
});
const sentence = (/** @type {string} */ name) =>
  new RegExp(
    `^${name} needs Node 22\\.16 or newer, and this is Node \\d+\\.\\d+\\.\\d+: install a newer one \\(https://nodejs\\.org\\)\\.$`
  );

/** @param {string} cache folder of the fetched Node @param {string[]} args */
const old = (cache, ...args) =>
  spawnSync(oldNode, args, { cwd: ROOT, encoding: 'utf8', env: cleanEnvironment({ SEGANET_CACHE: cache }) });

/** A cache with this Node, as the launcher keeps the one that it has fetched. */
function cacheWithNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const cache = temporaryFolder();
  const folder = path.join(cache, `${name}-${VERSION}`, 'node_modules', name, 'bin');
  fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync(fetched, path.join(folder, 'node'));
  return cache;
}

test('the package names the same oldest Node', () => {
  expect(manifest.engines.node).toBe(`>=${MINIMUM.join('.')}`);
  expect(COMMANDS.length).toBeGreaterThanOrEqual(8);
});

withOldNode.each(COMMANDS)('%s ends with a sentence and the exit code of a wrong usage', (name, file) => {
  for (const args of [[], ['--help']]) {
    const { status, stdout, stderr } = old(temporaryFolder(), file, ...args);
    expect({ status, stdout, lines: stderr.split('\n') }).toEqual({
      status: 2,
      stdout: '',
      lines: [expect.stringMatching(sentence(name)), '']
    });
  }
});

if (!fetched) console.warn(`Skipped: the launcher has not fetched Node ${VERSION}.`);
(fetched ? withOldNode : test.skip).each(COMMANDS)('%s runs with the Node that was fetched', (name, file) => {
  const { status, stdout, stderr } = old(cacheWithNode(), file, '--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^(Usage: )?${name} `));
  expect(old(cacheWithNode(), file, '--no-such-option')).toMatchObject({ status: 2 });
});

withOldNode('each node of the palette refuses with the same sentence', () => {
  const files = Object.values(manifest['node-red'].nodes).map((file) => path.join(ROOT, file));
  const script = `for (const file of ${JSON.stringify(files)}) {
    try { require(file); console.log('loaded', file); } catch (error) { console.log(error.message); }
  }`;
  const lines = old('/none', '-e', script).stdout.trim().split('\n');
  expect(lines).toHaveLength(files.length);
  for (const line of lines) expect(line).toMatch(sentence('SegaNet Gateway'));
});

const nodeRed = process.env.SEGANET_NODE_RED_4 ?? '';
if (!nodeRed) console.warn('Skipped: SEGANET_NODE_RED_4 names no folder with a Node-RED for an older Node.');
(nodeRed ? withOldNode : test.skip)(
  'Node-RED shows the sentence, and goes on without the palette',
  async () => {
    const folder = temporaryFolder();
    fs.mkdirSync(path.join(folder, 'node_modules/@seganet'), { recursive: true });
    fs.symlinkSync(ROOT, path.join(folder, 'node_modules/@seganet/node-red-gateway'));
    const settings = { uiPort: 0, uiHost: '127.0.0.1', flowFile: 'flow.json', telemetry: { enabled: false } };
    fs.writeFileSync(path.join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settings)};`);
    const dependencies = { '@seganet/node-red-gateway': '*' };
    fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies }));
    const red = path.join(nodeRed, 'node_modules/node-red/red.js');
    const node = run(oldNode, [red, '-u', folder], { cwd: folder, env: cleanEnvironment() });
    await node.says('Started flows', 50_000);
    const shown = node.output.split('\n').filter((line) => line.includes('needs Node 22.16 or newer'));
    expect(shown).toHaveLength(Object.keys(manifest['node-red'].nodes).length);
    expect(shown[0]).toMatch(
      /\[@seganet\/node-red-gateway\/seganet-\S+\] Error: SegaNet Gateway needs Node 22\.16 /
    );
    expect(node.output).not.toMatch(/^\s+at /m);
  }
);
