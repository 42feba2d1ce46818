'use strict';
// How a tenant without a container is limited.

const fs = require('node:fs');
const path = require('node:path');

/** @typedef {import('../file/schema').Spec} Spec */

const MIB = 1 << 20;

/** @param {string} program @param {NodeJS.ProcessEnv} env @returns {string} its path, '' if there is none */
function find(program, env = process.env) {
  const folders = [...(env.PATH ?? '').split(path.delimiter), '/usr/bin', '/bin', '/usr/sbin'];
  return (
    folders
      .filter(Boolean)
      .map((folder) => path.join(folder, program))
      .find((file) => {
        try {
          fs.accessSync(file, fs.constants.X_OK);
          return true;
        } catch {
          return false;
        }
      }) ?? ''
  );
}

/** @typedef {{ kind: 'systemd' | 'prlimit' | 'none', words: (spec: Spec) => string[] }} Limiter words: before the command */

/** @param {string} program @param {string} unit prefix of the units' names @returns {Limiter} */
function systemdLimiter(program, unit) {
  const manager = process.getuid?.() === 0 ? '--system' : '--user';
  return {
    kind: 'systemd',
    words: ({ name, limits: { memoryMiB, cpus, pids } }) => [
      program,
      manager,
      // A scope runs the command in this process's place, and survives the keeper's own service.
      '--scope',
      '--quiet',
      '--collect',
      `--unit=${unit}-${name}`,
      `--property=MemoryMax=${memoryMiB}M`,
      '--property=MemorySwapMax=0',
      `--property=CPUQuota=${Math.round(cpus * 100)}%`,
      `--property=TasksMax=${pids}`,
      '--'
    ]
  };
}

/**
 * Memory is none of these limits: each thread of Node with JavaScript reserves half a gigabyte, and the kernel
 * would count that. The driver looks at the memory in use instead.
 * @param {string} program
 * @returns {Limiter}
 */
function prlimitLimiter(program) {
  return {
    kind: 'prlimit',
    words: ({ limits: { volumeMiB } }) => [program, `--fsize=${volumeMiB * MIB}`, '--core=0', '--']
  };
}

/**
 * Returns the best way to limit processes here.
 * @param {object} options
 * @param {string} options.unit
 * @param {boolean} [options.hasSystemd] systemd runs this machine (sd_booted(3))
 * @param {NodeJS.ProcessEnv} [options.env]
 * @returns {Limiter}
 */
function limiterOf({ unit, hasSystemd = fs.existsSync('/run/systemd/system'), env }) {
  const systemd = hasSystemd ? find('systemd-run', env) : '';
  if (systemd) return systemdLimiter(systemd, unit);
  const prlimit = find('prlimit', env);
  return prlimit ? prlimitLimiter(prlimit) : { kind: 'none', words: () => [] };
}

module.exports = { limiterOf, find };
