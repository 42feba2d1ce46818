'use strict';

// The commands that make the addon for another platform.

const fs = require('node:fs');
const path = require('node:path');
const { COMPILE_FLAGS, LINUX_LINK_FLAGS, included } = require('../compiler');
const { fetchNode, fetchZig } = require('./wheels');
const { TARGETS } = require('./targets');

/** Where the compiler runs. Paths are relative to it, so that another checkout makes the same bytes. */
const ROOT = path.join(__dirname, '..', '..');
/** Of all targets: Node's headers differ in config.gypi alone, which no compiler reads. */
const HEADERS = TARGETS['linux-x64'].wheel;
/** Keeps libc++ to the addon: Node exports the same names of libstdc++, such as operator new. */
const EXPORTS = path.join('native', 'prebuild', 'exports.map');

/** @param {string} target @returns {import('../compiler').Toolchain} */
function crossToolchain(target) {
  const headers = path.join(fetchNode(HEADERS), 'include', 'node');
  if (!fs.existsSync(path.join(headers, 'node_api.h'))) throw new Error(`no headers of Node in ${headers}`);
  const compiler = [fetchZig(), 'c++', '-target', TARGETS[target].triple];
  const includes = ['native', path.relative(ROOT, path.dirname(require.resolve('node-addon-api'))), headers];
  return {
    compile: [...compiler, ...COMPILE_FLAGS, ...included(includes), '-MMD', '-c'],
    // -O3: zig compiles its libc++ as the link asks.
    link: [...compiler, '-O3', '-s', ...LINUX_LINK_FLAGS, `-Wl,--version-script=${EXPORTS}`]
  };
}

module.exports = { crossToolchain, ROOT };
