'use strict';
// Compiles the shims when needed, and controls them through files that they map.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { findCompiler } = require('../../../../bench/harness/build');

const BLOCK = 4096;
const FOREVER = 0xffffffff;

/** @param {'clock' | 'io'} name @returns {string} path of the shared object */
function build(name) {
  const source = path.join(__dirname, `${name}.c`);
  const time = Math.round(fs.statSync(source).mtimeMs);
  const target = path.join(os.tmpdir(), `seganet-shim-${process.getuid?.()}-${name}-${time}.so`);
  if (fs.existsSync(target)) return target;
  const compiler = findCompiler();
  if (!compiler) throw new Error('No C compiler found. Install gcc (Debian: apt install gcc) or set CXX.');
  const partial = `${target}.${process.pid}`;
  const flags = ['-x', 'c', '-std=gnu11', '-O2', '-Wall', '-Wextra', '-shared', '-fPIC', '-o', partial];
  execFileSync(compiler, [...flags, source, '-ldl', '-lpthread'], { stdio: 'inherit' });
  fs.renameSync(partial, target);
  return target;
}

/** @param {string} file @returns {number} */
function makeBlock(file) {
  fs.writeFileSync(file, Buffer.alloc(BLOCK));
  return fs.openSync(file, 'r+');
}

class ClockShim {
  /** @param {string} folder */
  constructor(folder) {
    const file = path.join(folder, 'shim-clock');
    this.fd = makeBlock(file);
    this.library = build('clock');
    this.env = { SEGANET_SHIM_CLOCK: file };
  }

  /** @param {number} seconds offset of the wall clock */
  set(seconds) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(seconds)));
    fs.writeSync(this.fd, bytes, 0, 8, 0);
  }

  close() {
    fs.closeSync(this.fd);
  }
}

/** Order of the control block's fields (io.c). */
const FIELDS = [
  'failWrites',
  'failSyncs',
  'shortWrites',
  'error',
  'drop',
  'syncMs',
  'writes',
  'syncs',
  'injected',
  'lie'
];

class IoShim {
  /** @param {string} folder @param {string} watched a part of the affected paths */
  constructor(folder, watched) {
    const file = path.join(folder, 'shim-io');
    this.fd = makeBlock(file);
    this.library = build('io');
    this.env = { SEGANET_SHIM_IO: file, SEGANET_SHIM_IO_PATH: watched };
  }

  /** @param {Record<string, number>} values by field */
  set(values) {
    for (const [name, value] of Object.entries(values)) {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32LE(value);
      fs.writeSync(this.fd, bytes, 0, 4, FIELDS.indexOf(name) * 4);
    }
  }

  /** @returns {Record<string, number>} */
  get() {
    const bytes = Buffer.alloc(FIELDS.length * 4);
    fs.readSync(this.fd, bytes, 0, bytes.length, 0);
    return Object.fromEntries(FIELDS.map((name, i) => [name, bytes.readUInt32LE(i * 4)]));
  }

  /** Ends all faults. */
  calm() {
    this.set({ failWrites: 0, failSyncs: 0, shortWrites: 0, syncMs: 0 });
  }

  close() {
    fs.closeSync(this.fd);
  }
}

module.exports = { ClockShim, IoShim, FOREVER };
