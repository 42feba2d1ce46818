'use strict';
// Checks the content of a tenants file, for the keeper, which writes it, and for the gateway.
// docs/use/tenants-keeper.md describes its keys.

const path = require('node:path');
const { TENANT } = require('../../base/tenant-id');
const { shown } = require('../../base/values');

/** @typedef {'process' | 'docker' | 'podman' | 'kubernetes'} DriverName */
/**
 * @typedef {object} Limits
 * @property {number} memoryMiB
 * @property {number} cpus cores
 * @property {number} pids processes and threads
 * @property {number} files open files of each process
 * @property {number} volumeMiB
 * @property {number} writeMiBps MiB a second that it writes to its disk; 0 = any
 * @property {number} rate records a second that the front takes; 0 = any
 * @property {number} waitingMiB of records that the front keeps while the tenant sleeps
 */
/**
 * @typedef {object} Spec a tenant
 * @property {string} name
 * @property {DriverName} driver
 * @property {string} image '' = none
 * @property {string[]} command [] = that of the image, or the gateway of this package
 * @property {number} port MQTT; 0 = none
 * @property {number} http 0 = none
 * @property {number} tcp 0 = none
 * @property {Limits} limits
 * @property {number} idleMs unused for this time: pause, or stop
 * @property {number} stopMs paused for this time: stop
 * @property {boolean} warm false = stop instead of pause
 * @property {boolean} always true = never pause or stop
 * @property {string} template that it was made from, '' = none; the file may no longer have it
 * @property {boolean} byApi it was made through the keeper's socket, which may therefore remove it
 */
/**
 * @typedef {object} Template what new tenants are made from
 * @property {string} name
 * @property {Record<string, unknown>} entry of the tenants file, without a name
 * @property {Spec} spec of a tenant that is made from it, with the template's name
 * @property {string} flow absolute path of a flow file, or of a folder with gateway.json; '' = none
 * @property {number} most tenants that the keeper's socket may make of it; 0 = only the command makes some
 */

const MAX_FILE_BYTES = 4 << 20;
const MAX_TENANTS = 1000;
const MAX_TEMPLATES = 100;
const MAX_PATH = 4096;
const MAX_MS = 7 * 86_400_000;
const CONTAINERS = ['docker', 'podman'];
const DRIVERS = ['process', ...CONTAINERS, 'kubernetes'];
const IMAGE = /^([a-z0-9][A-Za-z0-9._:/-]{0,400}@)?sha256:[0-9a-f]{64}$/;
const MAX_COMMAND_PARTS = 64;
const MAX_COMMAND_PART = 4096;

/** @typedef {{ min: number, max: number, standard: number, fraction?: true }} Range */
/** @type {Record<keyof Limits, Range>} */
const LIMITS = {
  memoryMiB: { min: 16, max: 1 << 20, standard: 256 },
  cpus: { min: 0.05, max: 256, standard: 1, fraction: true },
  pids: { min: 8, max: 32768, standard: 128 },
  files: { min: 64, max: 65536, standard: 4096 },
  volumeMiB: { min: 1, max: 1 << 24, standard: 1024 },
  writeMiBps: { min: 0, max: 1 << 20, standard: 32 },
  rate: { min: 0, max: 1_000_000, standard: 0 },
  waitingMiB: { min: 1, max: 65536, standard: 64 }
};
const TIMES = {
  idleMs: { min: 100, max: MAX_MS, standard: 600_000 },
  stopMs: { min: 100, max: MAX_MS, standard: 3_600_000 }
};
const PORTS = {
  port: { min: 0, max: 65535, standard: 1883 },
  http: { min: 1, max: 65535, standard: 0 },
  tcp: { min: 0, max: 65535, standard: 0 }
};
const MOST = { min: 0, max: MAX_TENANTS, standard: 0 };
/** Of a tenant and of a template. */
const SHARED_KEYS = ['driver', 'image', 'command', 'limits', 'warm', 'always'].concat(
  Object.keys(TIMES),
  Object.keys(PORTS)
);
const KEYS = ['name', ...SHARED_KEYS, 'template', 'byApi'];
const TEMPLATE_KEYS = [...SHARED_KEYS, 'flow', 'most'];

/** An error in a tenants file; the message names the key. */
class SchemaError extends Error {}

/** @param {string} message @returns {never} */
function refuse(message) {
  throw new SchemaError(message);
}

/** @param {unknown} value @param {string} where @returns {Record<string, unknown>} */
function objectOf(value, where) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    refuse(`${where} must be an object.`);
  return /** @type {Record<string, unknown>} */ (value);
}

/** @param {object} value @param {string[]} known @param {string} where */
function refuseOthers(value, known, where) {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  refuse(`${where} has the unknown key '${shown(unknown)}'. Known keys: ${known.join(', ')}.`);
}

/** @param {unknown} value @param {Range} range @param {string} where @returns {number} */
function numberIn(value, { min, max, standard, fraction }, where) {
  if (value === undefined) return standard;
  const isNumber = typeof value === 'number' && (fraction ? Number.isFinite(value) : Number.isInteger(value));
  if (isNumber && value >= min && value <= max) return value;
  return refuse(`${where} must be a ${fraction ? '' : 'whole '}number from ${min} to ${max}.`);
}

/**
 * @template {Record<string, Range>} Ranges
 * @param {Record<string, unknown>} value
 * @param {Ranges} ranges
 * @param {string} where
 * @returns {Record<keyof Ranges, number>}
 */
function numbersOf(value, ranges, where) {
  const rows = Object.entries(ranges).map(([key, range]) => [
    key,
    numberIn(value[key], range, `${where}.${key}`)
  ]);
  return Object.fromEntries(rows);
}

/** @param {unknown} value @param {boolean} standard @param {string} where @returns {boolean} */
function flagOf(value, standard, where) {
  if (value === undefined) return standard;
  return typeof value === 'boolean' ? value : refuse(`${where} must be true or false.`);
}

/** @param {unknown} value @param {string} where @returns {string[]} */
function commandOf(value, where) {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_COMMAND_PARTS) {
    return refuse(`${where} must be a list of 1 to ${MAX_COMMAND_PARTS} texts.`);
  }
  for (const [index, part] of value.entries()) {
    const isText = typeof part === 'string' && part.length <= MAX_COMMAND_PART && !part.includes('\0');
    if (!isText || (index === 0 && part === '')) {
      refuse(`${where}[${index}] must be a text of at most ${MAX_COMMAND_PART} characters without NUL.`);
    }
  }
  return value;
}

/** @param {unknown} value @param {string} where @returns {string} */
function nameOf(value, where) {
  if (typeof value === 'string' && TENANT.test(value)) return value;
  return refuse(
    `${where} must have 1 to 32 lower-case letters, digits and dashes, and no dash at its beginning or end.`
  );
}

/** @param {{ driver: DriverName }} tenant @returns {boolean} true if it runs in a container of this machine */
const isContainer = ({ driver }) => CONTAINERS.includes(driver);

/** @param {unknown} value @param {DriverName} driver @param {string} where @returns {string} */
function imageOf(value, driver, where) {
  if (value === undefined) {
    return isContainer({ driver }) ? refuse(`${where} is missing: the driver ${driver} needs an image.`) : '';
  }
  if (driver === 'process') refuse(`${where} is not possible with the driver process, which has no images.`);
  if (typeof value === 'string' && IMAGE.test(value)) return value;
  return refuse(
    `${where} must name an image by its digest: NAME@sha256:…, or sha256:…, with 64 hexadecimal digits.`
  );
}

/**
 * Checks one tenant.
 * @param {unknown} value
 * @param {string} [where] its place in the file, for errors
 * @returns {Spec}
 * @throws {SchemaError}
 */
function checkTenant(value, where = 'the tenant') {
  const tenant = objectOf(value, where);
  refuseOthers(tenant, KEYS, where);
  const { driver } = tenant;
  const name = nameOf(tenant.name, `${where}.name`);
  if (typeof driver !== 'string' || !DRIVERS.includes(driver)) {
    refuse(`${where}.driver must be one of ${DRIVERS.join(', ')}.`);
  }
  const kind = /** @type {DriverName} */ (driver);
  const limits = tenant.limits === undefined ? {} : objectOf(tenant.limits, `${where}.limits`);
  refuseOthers(limits, Object.keys(LIMITS), `${where}.limits`);
  const spec = {
    name,
    driver: kind,
    image: imageOf(tenant.image, kind, `${where}.image`),
    command: commandOf(tenant.command, `${where}.command`),
    ...numbersOf(tenant, PORTS, where),
    limits: numbersOf(limits, LIMITS, `${where}.limits`),
    ...numbersOf(tenant, TIMES, where),
    warm: flagOf(tenant.warm, true, `${where}.warm`),
    always: flagOf(tenant.always, false, `${where}.always`),
    template: tenant.template === undefined ? '' : nameOf(tenant.template, `${where}.template`),
    byApi: flagOf(tenant.byApi, false, `${where}.byApi`)
  };
  if (spec.port === 0 && spec.http === 0 && spec.tcp === 0)
    refuse(`${where}.http is missing: without MQTT (port 0), http or tcp is needed.`);
  if (spec.http !== 0 && spec.port === spec.http) refuse(`${where}.http must differ from port.`);
  if (spec.tcp !== 0 && (spec.tcp === spec.port || spec.tcp === spec.http))
    refuse(`${where}.tcp must differ from port and http.`);
  return spec;
}

/**
 * Checks one template.
 * @param {string} name
 * @param {unknown} value
 * @returns {Template}
 * @throws {SchemaError}
 */
function checkTemplate(name, value) {
  nameOf(name, `The name '${shown(name)}' of a template`);
  const where = `templates.${name}`;
  const template = objectOf(value, where);
  refuseOthers(template, TEMPLATE_KEYS, where);
  const { flow = '', most, ...entry } = template;
  const spec = checkTenant({ ...entry, name }, where);
  const isPath = typeof flow === 'string' && flow.length <= MAX_PATH && !flow.includes('\0');
  if (!isPath || (flow !== '' && !path.isAbsolute(flow)))
    return refuse(
      `${where}.flow must be the absolute path of a flow file, or of a folder with gateway.json.`
    );
  const number = numberIn(most, MOST, `${where}.most`);
  if (spec.driver === 'kubernetes' && (flow || number > 0))
    refuse(
      `${where} has the driver kubernetes: the keeper cannot make tenants in a cluster or write their volumes. Remove flow and most.`
    );
  return { name, entry, spec, flow, most: number };
}

/**
 * Checks the text of a tenants file.
 * @param {string | Buffer} text
 * @returns {{ tenants: Spec[], templates: Template[] }} in the order of the file
 * @throws {SchemaError}
 */
function parseFile(text) {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) refuse(`The file exceeds ${MAX_FILE_BYTES >> 20} MiB.`);
  let value;
  try {
    value = JSON.parse(text.toString());
  } catch (error) {
    refuse(`The file is not JSON (${/** @type {Error} */ (error).message}).`);
  }
  const file = objectOf(value, 'The file');
  refuseOthers(file, ['version', 'tenants', 'templates'], 'The file');
  if (file.version !== 1)
    refuse(
      `version must be 1, not ${shown(JSON.stringify(file.version) ?? 'none')}. The gateway and seganet-tenants must be of the same release.`
    );
  if (!Array.isArray(file.tenants)) return refuse('tenants must be a list.');
  if (file.tenants.length > MAX_TENANTS) refuse(`tenants has more than ${MAX_TENANTS} entries.`);
  const names = new Set();
  const tenants = file.tenants.map((each, index) => {
    const spec = checkTenant(each, `tenants[${index}]`);
    if (names.has(spec.name)) refuse(`tenants[${index}].name repeats '${spec.name}'.`);
    names.add(spec.name);
    return spec;
  });
  const templates = Object.entries(objectOf(file.templates ?? {}, 'templates'));
  if (templates.length > MAX_TEMPLATES) refuse(`templates has more than ${MAX_TEMPLATES} entries.`);
  return { tenants, templates: templates.map(([name, each]) => checkTemplate(name, each)) };
}

/** @param {string | Buffer} text of a tenants file @returns {Spec[]} its tenants @throws {SchemaError} */
const parseTenants = (text) => parseFile(text).tenants;

module.exports = {
  MAX_FILE_BYTES,
  MAX_TENANTS,
  SchemaError,
  checkTemplate,
  checkTenant,
  isContainer,
  parseFile,
  parseTenants
};
