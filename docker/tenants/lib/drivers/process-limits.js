'use strict';
// The limits of a tenant without a container.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

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

/**
 * @typedef {object} Limiter
 * @property {'systemd' | 'prlimit' | 'none'} kind
 * @property {(spec: Spec, disk: string) => string[]} words before the command; disk: device of its data, '' = none
 * @property {(id: string) => string[]} spare words before the command of a process that gets its limits later
 * @property {(spec: Spec, disk: string, process: { pid: number, id: string }) => string[][]} limits commands that give
 *   these limits to such a process
 * @property {Record<string, string>} env variables of the program that `words` begins with, not of the tenant
 * @property {string} problem why systemd is not used although it runs this machine, '' = it is, or does not
 */

/** Variables by which systemd-run finds the manager of a user. The tenant does not get them. */
const BUS = ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];
/** Longest time of a first scope. */
const PROBE_MS = 5000;

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {number} uid
 * @returns {Record<string, string>} what there is of BUS; a service of the system has the folder, but not its variable
 */
function busOf(env, uid) {
  const runtime = `/run/user/${uid}`;
  const standard = fs.existsSync(runtime) ? { XDG_RUNTIME_DIR: runtime } : {};
  const given = BUS.flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  return { ...standard, ...Object.fromEntries(given) };
}

/**
 * @param {string} program
 * @param {{ unit: string, uid: number, env: NodeJS.ProcessEnv }} options
 * @returns {Omit<Limiter, 'problem'>}
 */
function systemdLimiter(program, { unit, uid, env }) {
  const isUser = uid !== 0;
  const clean = find('env', env) || 'env';
  const prlimit = find('prlimit', env);
  // A scope has no such limits. See NO_CORE in container.js.
  const files = (/** @type {Spec} */ { limits }) => ['--core=0', `--nofile=${limits.files}`];
  /** @param {string} name @param {string[]} properties */
  const scope = (name, properties) => [
    program,
    ...scopeOf(uid),
    `--unit=${unit}${name}`,
    ...properties.map((each) => `--property=${each}`),
    '--',
    ...(isUser ? [clean, ...BUS.flatMap((variable) => ['-u', variable]), '--'] : [])
  ];
  return {
    kind: 'systemd',
    env: isUser ? busOf(env, uid) : {},
    words: (spec, disk) => [
      ...scope(`-${spec.name}`, propertiesOf(spec, disk)),
      ...(prlimit ? [prlimit, ...files(spec), '--'] : [])
    ],
    // No tenant's name contains a dot.
    spare: (id) => scope(`.${id}.scope`, []),
    limits: (spec, disk, { pid, id }) => [
      [
        find('systemctl', env) || 'systemctl',
        isUser ? '--user' : '--system',
        'set-property',
        '--runtime',
        `${unit}.${id}.scope`,
        ...propertiesOf(spec, disk)
      ],
      ...(prlimit ? [[prlimit, `--pid=${pid}`, ...files(spec)]] : [])
    ]
  };
}

/** @param {Spec} spec @param {string} disk @returns {string[]} properties of its scope */
function propertiesOf({ limits: { memoryMiB, cpus, pids, writeMiBps } }, disk) {
  return [
    `MemoryMax=${memoryMiB}M`,
    'MemorySwapMax=0',
    `CPUQuota=${Math.round(cpus * 100)}%`,
    `TasksMax=${pids}`,
    // A manager without the control group ignores this one.
    ...(disk && writeMiBps > 0 ? [`IOWriteBandwidthMax=${disk} ${writeMiBps * MIB}`] : [])
  ];
}

/**
 * A scope runs the command in this process's place, and survives the keeper's own service.
 * @param {number} uid
 */
const scopeOf = (uid) => [uid === 0 ? '--system' : '--user', '--scope', '--quiet', '--collect'];

/**
 * Tries to make a scope: a user without a login session, for example, has no manager.
 * @param {string} program
 * @param {number} uid
 * @param {Record<string, string>} env
 * @returns {string} why that is not possible, '' = it is
 */
function scopeProblem(program, uid, env) {
  const { status, error, stderr } = spawnSync(program, [...scopeOf(uid), '--', 'true'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: PROBE_MS,
    encoding: 'utf8'
  });
  if (status === 0) return '';
  const said = stderr?.trim().split('\n')[0].slice(0, 200);
  return `systemd makes no scopes for this user: ${error?.message || said || `code ${status}`}`;
}

/**
 * Memory is not one of these limits: each JavaScript thread of Node reserves half a gigabyte, which the kernel would
 * count. The driver measures the memory in use instead.
 * @param {string} program
 * @returns {Omit<Limiter, 'problem'>}
 */
function prlimitLimiter(program) {
  const limits = (/** @type {Spec} */ { limits: { volumeMiB, files } }) => [
    `--fsize=${volumeMiB * MIB}`,
    '--core=0',
    `--nofile=${files}`
  ];
  return {
    kind: 'prlimit',
    env: {},
    words: (spec) => [program, ...limits(spec), '--'],
    spare: () => [],
    limits: (spec, _, { pid }) => [[program, `--pid=${pid}`, ...limits(spec)]]
  };
}

/**
 * Returns the best way to limit processes here.
 * @param {object} options
 * @param {string} options.unit
 * @param {boolean} [options.hasSystemd] systemd runs this machine (sd_booted(3))
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {number} [options.uid]
 * @returns {Limiter}
 */
function limiterOf({
  unit,
  hasSystemd = fs.existsSync('/run/systemd/system'),
  env = process.env,
  uid = process.getuid?.() ?? 0
}) {
  const program = hasSystemd ? find('systemd-run', env) : '';
  let problem = '';
  if (program) {
    const limiter = systemdLimiter(program, { unit, uid, env });
    problem = scopeProblem(program, uid, limiter.env);
    if (!problem) return { ...limiter, problem };
  }
  const prlimit = find('prlimit', env);
  const other = prlimit
    ? prlimitLimiter(prlimit)
    : { kind: /** @type {const} */ ('none'), env: {}, words: () => [], spare: () => [], limits: () => [] };
  return { ...other, problem };
}

module.exports = { limiterOf, find };
