'use strict';
// What the commands share.

const { CliError, EXIT } = require('../base/errors');
const { readTenants } = require('../file/tenants-file');

/** @typedef {import('./index').Context} Context */

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

/** @param {import('../base/home').Home} home @param {string} name @returns {Spec} */
function tenantOf({ file }, name) {
  const spec = readTenants(file).find((each) => each.name === name);
  if (spec) return spec;
  throw new CliError(
    `There is no tenant '${name.slice(0, 64)}' in ${file}. Add it with "seganet-tenants add".`
  );
}

/** @param {import('../base/home').Home} home @param {string} name @returns {Spec} whose volume is on this machine */
function specOf(home, name) {
  const spec = tenantOf(home, name);
  if (spec.driver !== 'kubernetes') return spec;
  throw new CliError(
    `The volume of ${name} is in its cluster. Save it there, for example with VolumeSnapshots.`
  );
}

/** @param {string} text @param {string} what @param {number} min @param {number} max @returns {number} */
function numberIn(text, what, min, max) {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new CliError(`${what} takes a whole number from ${min} to ${max}.`, EXIT.USAGE);
}

/** @param {number} bytes */
const mib = (bytes) => (bytes / 2 ** 20).toFixed(1);

module.exports = { mib, numberIn, specOf, tenantOf };
