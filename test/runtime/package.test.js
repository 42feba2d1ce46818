'use strict';
// The published package: packed, installed without scripts, loaded. It must bring its binary and nothing that only the
// repository needs.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFileSync, spawnSync } = require('node:child_process');

const root = path.join(__dirname, '..', '..');
jest.setTimeout(180000);

/** @param {string[]} args @param {string} cwd */
const npm = (args, cwd) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

describe('the published package', () => {
  /** @type {string} */
  let folder;
  /** @type {string} */
  let installed;

  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-pack-'));
    npm(['pack', '--pack-destination', folder], root);
    const [tarball] = fs.readdirSync(folder);
    fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
    npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', path.join(folder, tarball)], folder);
    installed = path.join(folder, 'node_modules', '@seganet', 'node-red-gateway');
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  test('loads its engine without an install script', () => {
    const script = `const { Engine } = require(${JSON.stringify(installed)});
      const engine = new Engine({ workers: 1 }, () => {});
      console.log(engine.workers().length);
      engine.close();`;
    expect(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }).trim()).toBe('1');
  });

  test('brings the command seganet-log, for the Node that is there', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-log');
    const { version } = JSON.parse(fs.readFileSync(path.join(installed, 'package.json'), 'utf8'));
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
    expect(run('inspect', folder)).toMatchObject({ status: 3, stdout: '' });
  });

  test('brings the command seganet-net', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-net');
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    expect(run('--help')).toMatchObject({ status: 0, stderr: '' });
    expect(run('plan', '--rate', '2')).toMatchObject({ status: 2, stdout: '' });
  });

  test('brings the command seganet-paths', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-paths');
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    expect(run('--help')).toMatchObject({ status: 0, stderr: '' });
    expect(run('plan', '--paths', '-x')).toMatchObject({ status: 2, stdout: '' });
  });

  test('brings the command seganet-bench, with its tools as sources', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-bench');
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8', cwd: folder });
    expect(run('--help')).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('--quick')
    });
    const listed = run('--list');
    expect(listed).toMatchObject({ status: 0, stderr: '' });
    expect(listed.stdout).toMatch(/^peers: .*\n {2}64 devices\/seganet /);
    expect(run('--only', 'nothing')).toMatchObject({ status: 2, stdout: '' });
    const sources = fs.readdirSync(path.join(installed, 'bench', 'loadgen'));
    expect(sources).toContain('main.cc');
    expect(fs.existsSync(path.join(installed, 'bench', '.build'))).toBe(false);
  });

  test('names node files that it has, each with its dialog and help', () => {
    const { 'node-red': section } = JSON.parse(fs.readFileSync(path.join(installed, 'package.json'), 'utf8'));
    for (const [type, file] of Object.entries(section.nodes)) {
      const files = [file, file.replace(/js$/, 'html'), `nodes/locales/en-US/${type}.json`];
      for (const name of files) expect(fs.existsSync(path.join(installed, name))).toBe(true);
    }
  });

  test('brings no sources of the engine, no tests, no development dependency', () => {
    const names = fs.readdirSync(installed).sort();
    expect(names).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'bench',
        'docs',
        'examples',
        'flows',
        'native',
        'node_modules',
        'nodes',
        'package.json',
        'settings.js',
        'test' // what the benchmark shares with the tests
      ].filter((name) => name !== 'node_modules' || names.includes(name))
    );
    expect(fs.readdirSync(path.join(installed, 'native')).sort()).toEqual([
      'index.d.ts',
      'index.js',
      'prebuilds',
      'target.js'
    ]);
    expect(fs.readdirSync(path.join(installed, 'test')).sort()).toEqual(['fixtures', 'tools.js']);
    expect(fs.existsSync(path.join(folder, 'node_modules', 'aedes'))).toBe(false);
    expect(fs.existsSync(path.join(folder, 'node_modules', 'node-red'))).toBe(false);
  });
});
