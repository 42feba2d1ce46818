'use strict';

// The binary that native/index.js loads, in a temporary folder with the real one at one of its places.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const target = require('../../native/target');

const native = path.join(__dirname, '../../native');
const real = [
  path.join(native, 'build/Release/seganet.node'),
  path.join(native, 'prebuilds', `${target}.node`)
].find((file) => fs.existsSync(file));
const BUILD = 'build/Release/seganet.node';
const PREBUILT = `prebuilds/${target}.node`;

/** @type {string} */
let folder;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-loader-'));
  for (const name of ['index.js', 'target.js'])
    fs.copyFileSync(path.join(native, name), path.join(folder, name));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

/** @param {string} name @param {'good' | 'damaged'} kind */
function put(name, kind) {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  if (kind === 'good') fs.copyFileSync(/** @type {string} */ (real), file);
  else fs.writeFileSync(file, 'no binary');
  return file;
}

/** Returns the file that a process has loaded, or its output. @param {Record<string, string>} [env] */
function load(env) {
  const script = `require(${JSON.stringify(folder)});
    console.log(Object.keys(require.cache).find((file) => file.endsWith('.node')));`;
  const usual = { ...process.env };
  delete usual.SEGANET_NATIVE;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], {
    env: { ...usual, ...env },
    encoding: 'utf8'
  });
  return { loaded: stdout.trim(), stderr };
}

test('prefers the build of a checkout to the prebuilt one, which is used without a build', () => {
  const prebuilt = put(PREBUILT, 'good');
  expect(load()).toEqual({ loaded: prebuilt, stderr: '' });
  const built = put(BUILD, 'good');
  expect(load()).toEqual({ loaded: built, stderr: '' });
});

test("reports a build that does not load, with the loader's message, and runs no older binary", () => {
  const built = put(BUILD, 'damaged');
  const prebuilt = put(PREBUILT, 'good');
  const { loaded, stderr } = load();
  expect(loaded).toBe('');
  expect(stderr).toContain('The native engine cannot be loaded');
  expect(stderr).toMatch(/seganet\.node: .*(file too short|invalid ELF header)/);
  expect(stderr).toContain('npm run build');
  expect(stderr).not.toContain(`${prebuilt}: `);
  fs.rmSync(built);
  expect(load().loaded).toBe(prebuilt);
});

test('loads SEGANET_NATIVE, or reports why not', () => {
  const other = put('other.node', 'good');
  put(PREBUILT, 'good');
  expect(load({ SEGANET_NATIVE: other })).toEqual({ loaded: other, stderr: '' });
  const { loaded, stderr } = load({ SEGANET_NATIVE: path.join(folder, 'nowhere.node') });
  expect(loaded).toBe('');
  expect(stderr).toContain('nowhere.node: not found');
  expect(stderr).toContain('SEGANET_NATIVE names the file');
});

test('names the platforms that the package holds, and no others', () => {
  expect(load().stderr).toContain('installed from npm: this package has no prebuilt engine');
  put('prebuilds/sunos-sparc.node', 'damaged');
  put('prebuilds/linux-mips.node', 'damaged');
  const { stderr } = load();
  expect(stderr).toContain('this package has an engine for linux-mips, sunos-sparc;');
  expect(stderr).toContain('install from a checkout');
  expect(stderr).not.toMatch(/arm64/);
});

test('states what the prebuilt engine of this platform needs if it does not load', () => {
  put(PREBUILT, 'damaged');
  expect(load().stderr).toContain(
    `this package has an engine for ${target}. It needs glibc 2.28 (Debian 10, Ubuntu 20.04) or musl 1.2.3, or newer`
  );
});

test('names both places when nothing is there', () => {
  const { stderr } = load();
  expect(stderr).toContain(`${BUILD}: not found`);
  expect(stderr).toContain(`${PREBUILT}: not found`);
});
