'use strict';
// What runs in a tenant, and how: the options of add and template, and the entry that they make.

const { CliError, EXIT, isEngineAway, messageOf } = require('../base/errors');
const { standardName } = require('../image/image');

/** Options with a number, and their places in the file. @type {Record<string, { key: string, isLimit?: true, factor?: number, help: string }>} */
const NUMBERS = {
  port: { key: 'port', help: 'MQTT port in the tenant, 0 = none; default 1883' },
  http: { key: 'http', help: 'HTTP port in the tenant; default: none' },
  tcp: { key: 'tcp', help: 'port of a TCP service in the tenant; default: none' },
  memory: { key: 'memoryMiB', isLimit: true, help: 'MiB of memory; default 256' },
  cpus: { key: 'cpus', isLimit: true, help: 'cores, such as 0.5; default 1' },
  pids: { key: 'pids', isLimit: true, help: 'processes and threads; default 128' },
  files: { key: 'files', isLimit: true, help: 'open files of each process; default 4096' },
  volume: { key: 'volumeMiB', isLimit: true, help: 'MiB of data; default 1024' },
  write: {
    key: 'writeMiBps',
    isLimit: true,
    help: 'MiB a second that it writes to its disk, 0 = any; default 32'
  },
  rate: { key: 'rate', isLimit: true, help: 'records a second; default: any' },
  waiting: { key: 'waitingMiB', isLimit: true, help: 'MiB of records that wait while it sleeps; default 64' },
  idle: {
    key: 'idleMs',
    factor: 1000,
    help: 'seconds without use until it is paused or stopped; default 600'
  },
  stop: { key: 'stopMs', factor: 1000, help: 'seconds from the pause to the stop; default 3600' }
};

/**
 * @param {Record<string, any>} values
 * @returns {Record<string, any>} ports, limits and times of an entry of the file
 */
function settingsOf(values) {
  /** @type {Record<string, any>} */
  const entry = {};
  /** @type {Record<string, number>} */
  const limits = {};
  for (const [option, { key, isLimit, factor = 1 }] of Object.entries(NUMBERS)) {
    const text = values[option];
    if (text === undefined) continue;
    const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) * factor : NaN;
    if (!Number.isFinite(number))
      throw new CliError(`--${option} takes a number, not '${text}'.`, EXIT.USAGE);
    (isLimit ? limits : entry)[key] = number;
  }
  if (Object.keys(limits).length > 0) entry.limits = limits;
  if (values.cold) entry.warm = false;
  if (values.always) entry.always = true;
  return entry;
}

/** @type {Record<string, import('./index').Option>} */
const OPTIONS = {
  driver: { type: 'string', value: 'DRIVER', help: 'process, docker, podman or kubernetes' },
  image: {
    type: 'string',
    value: 'IMAGE',
    help: 'image of the container; default: that of the command image'
  },
  ...Object.fromEntries(
    Object.entries(NUMBERS).map(([name, { help }]) => [
      name,
      { type: /** @type {const} */ ('string'), value: 'N', help }
    ])
  ),
  cold: { type: 'boolean', help: 'stop instead of pause' },
  always: { type: 'boolean', help: 'never pause or stop' }
};

/**
 * @param {Pick<import('./index').Context, 'values' | 'env' | 'driver'>} context
 * @param {string[]} command
 * @returns {Promise<Record<string, any>>} entry of the file, without a name
 */
async function entryOf({ values, env, driver }, command) {
  const numbers = settingsOf(values);
  const chosen = values.driver ?? (await standardDriver(env, Boolean(values.image), driver));
  let { image } = values;
  if (chosen === 'docker' || chosen === 'podman') {
    const { digestOf } = driver(chosen);
    if (digestOf) image = await (image ? digestOf(image) : readyImage(digestOf, chosen));
  }
  return {
    driver: chosen,
    ...(image !== undefined && { image }),
    ...(command.length > 0 && { command }),
    ...numbers
  };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} hasImage
 * @param {(name: string) => import('../drivers/driver').Driver} driver
 * @returns {Promise<string>} an engine that answers, if the tenant has an image
 */
async function standardDriver(env, hasImage, driver) {
  const named = env.SEGANET_TENANTS_ENGINE?.trim() || 'auto';
  if (named !== 'auto') return named;
  return hasImage ? containerEngine(driver) : 'process';
}

/**
 * @param {(name: string) => import('../drivers/driver').Driver} driver
 * @returns {Promise<string>} an engine that answers
 */
async function containerEngine(driver) {
  for (const name of ['docker', 'podman']) {
    try {
      await driver(name).check();
      return name;
    } catch {
      // The next one.
    }
  }
  throw new CliError('Neither Docker nor Podman answers. Start one, or name another --driver.');
}

/**
 * @param {(image: string) => Promise<string>} digestOf
 * @param {string} engine
 * @returns {Promise<string>} the image that the command image has made
 */
async function readyImage(digestOf, engine) {
  try {
    return await digestOf(standardName());
  } catch (error) {
    if (isEngineAway(error)) throw error;
    throw new CliError(
      `${messageOf(error).replace(' Pull it first.', '')} Make it with "seganet-tenants image --engine ${engine}", or name another --image.`
    );
  }
}

module.exports = { OPTIONS, containerEngine, entryOf };
