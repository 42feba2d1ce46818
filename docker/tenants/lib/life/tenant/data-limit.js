'use strict';

const { ClosedError } = require('../../base/folder-size');

const MIB = 1 << 20;
/** Longest time for the orderly end of a tenant whose data exceed the limit, because it may still write. */
const FULL_GRACE_MS = 5000;

/**
 * Measures a tenant's data, stores the size in `dataBytes`, and compares it with the limit.
 * @param {import('../../drivers/driver').Driver} driver
 * @param {{ spec: import('../../../../../nodes/lib/tenants/file/schema').Spec, dataBytes: number }} tenant
 * @returns {Promise<string>} '' = within the limit, or unknown
 */
async function dataProblem(driver, tenant) {
  const { volumeMiB } = tenant.spec.limits;
  let bytes;
  try {
    bytes = (await driver.dataBytes?.(tenant.spec)) ?? 0;
  } catch (error) {
    if (error instanceof ClosedError) return `its data ${error.message}`;
    throw error;
  }
  tenant.dataBytes = bytes;
  return bytes <= volumeMiB * MIB ? '' : `its data (${Math.ceil(bytes / MIB)} MiB) exceed ${volumeMiB} MiB`;
}

module.exports = { FULL_GRACE_MS, dataProblem };
