'use strict';

// The commands that make the addon: a C++ compiler is all they need (no make, no Python).

/**
 * @typedef {object} Toolchain
 * @property {string[]} compile command that compiles one unit; the unit, `-o` and its object follow
 * @property {string[]} link command that links the addon; the objects, `-o` and the addon follow
 */

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const DEFINES = [
  'BUILDING_NODE_EXTENSION',
  'NAPI_VERSION=9',
  'SEGANET_ADDON',
  'NAPI_DISABLE_CPP_EXCEPTIONS',
  'NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED',
  'NODE_ADDON_API_DISABLE_DEPRECATED',
  'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
  'OPENSSL_THREADS', // Node's OpenSSL headers do not define it themselves
  '_FILE_OFFSET_BITS=64'
];

const FLAGS = [
  ['-std=c++20', '-O3', '-fPIC', '-pthread'],
  ['-fno-exceptions', '-fno-rtti', '-fvisibility=hidden', '-fno-omit-frame-pointer'],
  ['-Wall', '-Wextra', '-Wno-unused-parameter'],
  ['-fstack-protector-strong', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2']
].flat();

/** Of every compiler and target. */
const COMPILE_FLAGS = [...DEFINES.map((name) => `-D${name}`), ...FLAGS];

const LINUX_LINK_FLAGS = [
  '-shared',
  '-pthread',
  '-Wl,-z,relro,-z,now',
  '-static-libstdc++',
  '-static-libgcc'
];
const LINK_FLAGS =
  process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : LINUX_LINK_FLAGS;

/** Tried in this order unless the environment variable CXX names one. */
const COMPILERS = ['c++', 'g++', 'clang++'];

/** @param {string | undefined} text words between spaces @returns {string[]} */
const words = (text) => (text || '').split(/\s+/).filter(Boolean);

/** @returns {string[] | undefined} the compiler's command, such as ['ccache', 'g++']; undefined: there is none */
function findCompiler() {
  const candidates = process.env.CXX ? [words(process.env.CXX)] : COMPILERS.map((name) => [name]);
  return candidates.find(([command, ...args]) => spawnSync(command, [...args, '--version']).status === 0);
}

/**
 * @returns {string | undefined} folder with node_api.h, uv.h and OpenSSL's headers of this Node; undefined: this
 *   installation of Node came without them
 */
function installedHeaders() {
  const folder = path.resolve(path.dirname(process.execPath), '..', 'include', 'node');
  return fs.existsSync(path.join(folder, 'node_api.h')) ? folder : undefined;
}

/**
 * Downloads the headers of this Node as node-gyp does, once a version.
 * @returns {string} their folder
 * @throws {Error} the download failed
 */
function downloadedHeaders() {
  const gyp = require.resolve('node-gyp/bin/node-gyp.js');
  const folder = path.join(__dirname, 'build', 'headers');
  const done = spawnSync(process.execPath, [gyp, 'install', '--ensure', `--devdir=${folder}`], {
    cwd: __dirname,
    encoding: 'utf8'
  });
  if (done.status !== 0)
    throw new Error(`the headers of Node ${process.version} did not arrive:\n${done.stderr}`);
  return path.join(folder, process.versions.node, 'include', 'node');
}

/**
 * @returns {Toolchain} the compiler of this machine
 * @throws {Error} there is no compiler, or the headers did not arrive
 */
function localToolchain() {
  const compiler = findCompiler();
  if (!compiler) throw new Error(`no C++ compiler: ${process.env.CXX || COMPILERS.join(', ')} cannot run`);
  const includes = [
    __dirname,
    path.dirname(require.resolve('node-addon-api')),
    installedHeaders() || downloadedHeaders()
  ];
  return {
    compile: [
      ...compiler,
      ...COMPILE_FLAGS,
      ...words(process.env.CXXFLAGS),
      ...included(includes),
      '-MMD',
      '-c'
    ],
    link: [...compiler, ...LINK_FLAGS, ...words(process.env.LDFLAGS)]
  };
}

/** @param {string[]} folders @returns {string[]} */
const included = (folders) => folders.map((folder) => `-I${folder}`);

module.exports = { COMPILE_FLAGS, LINUX_LINK_FLAGS, included, localToolchain };
