'use strict';

const MIB = 1 << 20;

/**
 * Compares the data of a tenant with their limit.
 * @param {import('../drivers/driver').Driver} driver
 * @param {import('../file/schema').Spec} spec
 * @returns {Promise<string>} '' = within the limit, or unknown
 */
async function dataProblem(driver, spec) {
  const { volumeMiB } = spec.limits;
  const bytes = (await driver.dataBytes?.(spec)) ?? 0;
  return bytes <= volumeMiB * MIB ? '' : `its data (${Math.ceil(bytes / MIB)} MiB) exceed ${volumeMiB} MiB`;
}

module.exports = { dataProblem };
