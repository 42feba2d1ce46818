'use strict';
// The drivers by name. A driver without its engine is also created; each use of it reports the problem.

const { CliError, EXIT } = require('../base/errors');
const { DockerDriver } = require('./docker');
const { socketOf } = require('./engine-socket');
const { KubernetesDriver } = require('./kubernetes');
const { clusterOf } = require('./kubernetes-client');
const { ProcessDriver } = require('./process');

/** @typedef {import('./driver').Driver} Driver */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').DriverName} DriverName */
/** @typedef {{ home: import('../base/home').Home, env: NodeJS.ProcessEnv }} Parts */

/** @param {NodeJS.ProcessEnv} env @returns {string | undefined} '' = that of the engine; undefined = not given */
function parentIn({ SEGANET_TENANTS_CGROUP: given = '' }) {
  const parent = given.trim();
  if (parent === '') return undefined;
  if (parent === 'engine') return '';
  if (/^(\/[\w./-]*|[\w.-]+\.slice)$/.test(parent) && !parent.includes('..')) return parent;
  throw new CliError(
    `SEGANET_TENANTS_CGROUP must be 'engine' or a control group such as / or system.slice, not '${parent.slice(0, 100)}'.`,
    EXIT.CONFIG
  );
}

/** @param {'docker' | 'podman'} name @param {Parts} parts @returns {Driver} */
function container(name, { home, env }) {
  const range = env.SEGANET_TENANTS_SUBNETS?.trim() || undefined;
  return new DockerDriver(home, { name, socket: socketOf(name, env), range, parent: parentIn(env) });
}

/** @type {Record<DriverName, (parts: Parts) => Driver>} */
const MAKERS = {
  process: ({ home }) => new ProcessDriver(home),
  docker: (parts) => container('docker', parts),
  podman: (parts) => container('podman', parts),
  kubernetes: ({ home, env }) => new KubernetesDriver(home, clusterOf(env))
};

/**
 * @param {Parts} parts
 * @returns {{ get: (name: string) => Driver, close: () => void }} get makes a driver when it is first asked for
 */
function driversOf(parts) {
  /** @type {Map<string, Driver>} */
  const made = new Map();
  return {
    get: (name) => {
      const known = made.get(name);
      if (known) return known;
      const make = MAKERS[/** @type {DriverName} */ (name)];
      if (!make) throw new CliError(`There is no driver '${name}'.`, EXIT.USAGE);
      const driver = make(parts);
      made.set(name, driver);
      return driver;
    },
    close: () => {
      for (const driver of made.values()) driver.close();
    }
  };
}

module.exports = { driversOf };
