'use strict';
// The record that the rules of nftables are in force, which "seganet-tenants net apply" writes: { range, boot }. Only
// root can ask nftables itself.

const fs = require('node:fs');

const RULES_FILE = '/run/seganet-tenants/rules.json';
const BOOT_FILE = '/proc/sys/kernel/random/boot_id';
/** Longest record. */
const MAX_BYTES = 4096;

/** @returns {string} changes with each start of the machine */
const bootOf = () => fs.readFileSync(BOOT_FILE, 'utf8').trim();

/**
 * @param {string} [file]
 * @returns {string} the range that the rules are about; '' = there is no record since the machine started, or another
 *   user could have written it
 */
function readRecord(file = RULES_FILE) {
  try {
    const { uid, mode, size } = fs.statSync(file);
    const isTrusted = (uid === 0 || uid === process.getuid?.()) && (mode & 0o022) === 0;
    if (!isTrusted || size > MAX_BYTES) return '';
    const { range, boot } = JSON.parse(fs.readFileSync(file, 'utf8'));
    return boot === bootOf() && typeof range === 'string' ? range : '';
  } catch {
    return '';
  }
}

module.exports = { RULES_FILE, bootOf, readRecord };
