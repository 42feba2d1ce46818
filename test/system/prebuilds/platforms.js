'use strict';
// The platforms of the prebuilt engines, and how a Node of each is started on this machine.

const path = require('node:path');
const { TARGETS } = require('../../../native/prebuild/targets');
const { cached, nodeProgram } = require('../../../native/prebuild/wheels');

const PREBUILDS = path.join(__dirname, '..', '..', '..', 'native', 'prebuilds');
/** As tools name the processors. */
const MACHINES = /** @type {const} */ ({ x64: 'x86_64', arm64: 'aarch64' });

/** @param {string} target @returns {string} its engine */
const prebuilt = (target) => path.join(PREBUILDS, `${target}.node`);

/**
 * @param {string} target
 * @returns {{ command: string[], tools: string[] }} command that starts the target's Node, and what it needs
 */
function nodeOf(target) {
  const [system, arch] = /** @type {[string, 'x64' | 'arm64']} */ (target.split('-'));
  const machine = MACHINES[arch];
  const node = nodeProgram(TARGETS[target].wheel);
  const emulator = arch === process.arch ? [] : [`qemu-${machine}-static`];
  if (system === 'linuxmusl') {
    const loader = path.join(cached('musl-trixie'), arch, 'lib', `ld-musl-${machine}.so.1`);
    return { command: [...emulator, loader, node], tools: [...emulator, loader, node] };
  }
  if (emulator.length === 0) return { command: [node], tools: [node] };
  const root = `/usr/${machine}-linux-gnu`;
  // The loader must not search /usr/lib/aarch64-linux-gnu, which a machine with Debian's multiarch has: with libraries
  // from both places Node hangs.
  const libraries = ['-E', 'LD_LIBRARY_PATH=/lib'];
  return {
    command: [...emulator, ...libraries, '-L', root, node],
    tools: [...emulator, `${root}/lib/libstdc++.so.6`, node]
  };
}

module.exports = { MACHINES, nodeOf, prebuilt };
