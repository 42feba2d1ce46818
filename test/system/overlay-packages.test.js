'use strict';
// The npm packages of seganet-overlay: what npm install brings, and that its program runs without a C library.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../bench/harness/tools');
const { PLATFORMS } = require('../../native/overlay/build');
const { version } = require('../../package.json');

jest.setTimeout(600_000);

const MACHINES = { x64: /Machine:.*X86-64/, arm64: /Machine:.*AArch64/ };
const { describe: withGo } = needs(process.env.SEGANET_GO || 'go', 'readelf');
const { test: onArm } = needs('qemu-aarch64-static');

withGo('the packages of the overlay program', () => {
  /** @type {string} */
  let folder;
  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'overlay-packages-'));
    const script = 'require(process.argv[1]).makePackages(process.argv[2])';
    execFileSync(process.execPath, ['-e', script, require.resolve('../../native/overlay/build'), folder]);
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  const fileOf = (/** @type {string} */ cpu) =>
    path.join(folder, `overlay-linux-${cpu}`, 'bin', 'seganet-overlay');
  const says = `seganet-overlay ${version} linux`;

  test.each(PLATFORMS)('$os-$cpu has a static program, its licenses and no script', ({ os: system, cpu }) => {
    const home = path.join(folder, `overlay-${system}-${cpu}`);
    const manifest = JSON.parse(fs.readFileSync(path.join(home, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({
      name: `@seganet/overlay-${system}-${cpu}`,
      version,
      os: [system],
      cpu: [cpu],
      bin: { 'seganet-overlay': 'bin/seganet-overlay' }
    });
    expect(manifest).not.toHaveProperty('scripts');
    expect(manifest).not.toHaveProperty('dependencies');
    const header = execFileSync('readelf', ['-W', '-h', '-l', fileOf(cpu)], { encoding: 'utf8' });
    expect(header).toMatch(MACHINES[/** @type {'x64' | 'arm64'} */ (cpu)]);
    expect(header).not.toMatch(/INTERP/);
    expect(fs.statSync(fileOf(cpu)).mode & 0o111).toBe(0o111);
    expect(fs.readFileSync(path.join(home, 'LICENSES.txt'), 'utf8')).toMatch(/wireguard-go/);
  });

  test('the program of this machine runs', () => {
    expect(execFileSync(fileOf(process.arch), ['version'], { encoding: 'utf8' })).toMatch(says);
  });

  onArm('the program for arm64 runs', () => {
    const output = execFileSync('qemu-aarch64-static', [fileOf('arm64'), 'version'], { encoding: 'utf8' });
    expect(output).toBe(`${says}/arm64\n`);
  });
});
