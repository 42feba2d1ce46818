'use strict';

// The platforms that the published package has an engine for.

/**
 * @typedef {object} Target
 * @property {string} triple of the compiler, with the oldest glibc that the engine must load on
 * @property {string} wheel platform tag of the package with a Node for this target
 */

/**
 * By the name that native/target.js gives the platform. glibc 2.28 is what Node's own binaries need: Debian 10,
 * Ubuntu 20.04, RHEL 8, Raspberry Pi OS 10 and newer.
 * @type {Record<string, Target>}
 */
const TARGETS = {
  'linux-x64': { triple: 'x86_64-linux-gnu.2.28', wheel: 'manylinux_2_17_x86_64' },
  'linux-arm64': { triple: 'aarch64-linux-gnu.2.28', wheel: 'manylinux_2_17_aarch64' },
  'linuxmusl-x64': { triple: 'x86_64-linux-musl', wheel: 'musllinux_1_2_x86_64' },
  'linuxmusl-arm64': { triple: 'aarch64-linux-musl', wheel: 'musllinux_1_2_aarch64' }
};

module.exports = { TARGETS };
