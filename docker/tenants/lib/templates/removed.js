'use strict';
// Data of tenants that were removed through the keeper's socket: volumes/NAME.removed-20261123T021500123Z. Only the
// command deletes them.

const fs = require('node:fs');
const path = require('node:path');
const { syncFolder } = require('../../../../nodes/lib/base/replace-file');

const REMOVED = /\.removed-\d{8}T\d{9}Z$/;

/** @param {string} volumes folder of all volumes @param {string} [name] of a tenant, '' = of all @returns {string[]} */
function removedData(volumes, name = '') {
  const found = fs.existsSync(volumes) ? fs.readdirSync(volumes).sort() : [];
  return found
    .filter((each) => REMOVED.test(each) && (name === '' || each.replace(REMOVED, '') === name))
    .map((each) => path.join(volumes, each));
}

/**
 * Sets the data of a tenant aside, which does not run.
 * @param {string} volumes
 * @param {string} name
 * @param {Date} [now]
 * @returns {string} where they are, '' = there were none
 */
function setAside(volumes, name, now = new Date()) {
  const volume = path.join(volumes, name);
  if (!fs.existsSync(volume)) return '';
  const aside = `${volume}.removed-${now.toISOString().replace(/[-:.]/g, '')}`;
  fs.renameSync(volume, aside);
  syncFolder(volumes);
  return aside;
}

module.exports = { removedData, setAside };
