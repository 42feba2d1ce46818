'use strict';
// The prebuilt engines of the published package: what they need from a machine, and that each carries a record in a
// Node of its platform. Other processors run in qemu-user.
//
// Needs `npm run prebuilds -- --nodes`, .ci/musl, and Debian's binutils, qemu-user-static, libc6-arm64-cross and
// libstdc++6-arm64-cross.

const { execFile, execFileSync } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { temporaryCertificates } = require('../../bench/harness/certificates');
const { needs } = require('../../bench/harness/tools');
const { TARGETS } = require('../../native/prebuild/targets');
const { NODE_VERSION } = require('../../native/prebuild/wheels');
const { MACHINES, nodeOf, prebuilt } = require('./prebuilds/platforms');

const CARRY = path.join(__dirname, 'prebuilds', 'carry.js');
const BASELINE = [2, 28];

/** @param {string} target @param {string[]} options @returns {string} */
const readelf = (target, ...options) =>
  execFileSync('readelf', ['-W', ...options, prebuilt(target)], { encoding: 'utf8' });

/** @param {string} text @param {RegExp} what with one group @returns {string[]} */
const all = (text, what) => [...new Set([...text.matchAll(what)].map(([, found]) => found))].sort();

describe.each(Object.keys(TARGETS))('%s', (target) => {
  const isMusl = target.startsWith('linuxmusl');
  const machine = MACHINES[/** @type {'x64' | 'arm64'} */ (target.split('-')[1])];
  const { test: testFile } = needs('readelf', prebuilt(target));
  const { command, tools } = nodeOf(target);
  const { test: testRun } = needs('openssl', prebuilt(target), ...tools);

  testFile('needs the C library alone, and none newer than the baseline', () => {
    expect(readelf(target, '-h')).toMatch(machine === 'x86_64' ? /Machine:.*X86-64/ : /Machine:.*AArch64/);
    const libraries = all(readelf(target, '-d'), /NEEDED.*\[(.*)\]/g);
    expect(libraries).toContain(isMusl ? 'libc.so' : 'libc.so.6');
    const allowed = isMusl
      ? /^libc\.so$/
      : /^(libc|libm|libdl|libpthread|librt|ld-linux-(x86-64|aarch64))\.so\.[0-9]$/;
    expect(libraries.filter((name) => !allowed.test(name))).toEqual([]);

    const symbols = readelf(target, '--dyn-syms', '-V');
    const versions = all(symbols, /\b((?:GLIBC|GLIBCXX|CXXABI|GCC)_[0-9.]+)/g);
    if (isMusl) expect(versions).toEqual([]);
    else expect(versions.length).toBeGreaterThan(0);
    const tooNew = versions.filter((version) => {
      const [, major, minor] = /^GLIBC_(\d+)\.(\d+)/.exec(version) ?? [version, '99', '0'];
      return Number(major) > BASELINE[0] || (Number(major) === BASELINE[0] && Number(minor) > BASELINE[1]);
    });
    expect(tooNew).toEqual([]);
  });

  testFile('exports the two functions of Node-API and nothing of its C++ library', () => {
    const lines = readelf(target, '--dyn-syms').split('\n');
    const exported = lines
      .map((line) => line.trim().split(/\s+/))
      .filter(
        ([number, , , , binding, , section]) =>
          /^\d+:$/.test(number) && binding !== 'LOCAL' && section !== 'UND'
      )
      .map((columns) => columns[7]);
    expect(exported.sort()).toEqual(['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
  });

  testRun(
    'carries a record from a device over the log to a broker with TLS',
    async () => {
      const certificates = temporaryCertificates();
      try {
        const env = { ...process.env, SEGANET_NATIVE: prebuilt(target) };
        const [program, ...args] = [...command, CARRY, certificates.folder];
        const { stdout } = await promisify(execFile)(program, args, { env, timeout: 170_000 });
        expect(JSON.parse(stdout)).toEqual({
          target,
          node: NODE_VERSION,
          chunk: true,
          puback: '40020007',
          protocol: 'TLSv1.3',
          topic: 'gw/normal',
          line: expect.objectContaining({ d: 'pump', t: 'd/pump', s: 0, c: 3, p: { t: 21.5 } })
        });
      } finally {
        certificates.remove();
      }
    },
    180_000
  );
});
