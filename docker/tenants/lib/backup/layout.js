'use strict';
// What is in the archive of a backup.
//
//   BACKUP.json     { format, tenant, created, program, node, sqlite, definition }; the first entry
//   volume/…        files, folders and links of the tenant's volume; databases as SQLite copies them
//   MANIFEST.json   { format, tenant, created, owner, entries, skipped }; the last entry

const fs = require('node:fs');
const path = require('node:path');

const FORMAT = 1;
const ABOUT = 'BACKUP.json';
const MANIFEST = 'MANIFEST.json';
const PREFIX = 'volume/';
/** Files, folders and links of a volume. */
const MAX_ENTRIES = 200_000;
/** Largest BACKUP.json and MANIFEST.json. */
const MAX_TEXT_BYTES = 128 << 20;

/**
 * @typedef {'file' | 'database' | 'folder' | 'link'} Kind
 *
 * @typedef {object} Row of the manifest
 * @property {string} path below the volume
 * @property {Kind} kind
 * @property {number} size bytes
 * @property {number} mode
 * @property {number} mtimeMs
 * @property {string} [sha256] of files and databases
 * @property {string} [target] of links
 * @property {string} [fault] of a database that was damaged when it was saved
 *
 * @typedef {object} About
 * @property {number} format
 * @property {string} tenant
 * @property {string} created ISO 8601
 * @property {string} program version
 * @property {string} node version
 * @property {string} sqlite version
 * @property {object | null} definition entry of the tenants file, for people: restoring does not use it
 *
 * @typedef {object} Manifest
 * @property {number} format
 * @property {string} tenant
 * @property {string} created
 * @property {{ uid: number, gid: number }} owner of the volume
 * @property {Row[]} entries in the order of the archive
 * @property {import('./volume').Skipped[]} skipped
 */

/** @returns {string} version of this program */
function programVersion() {
  const file = path.join(__dirname, '..', '..', 'package.json');
  return JSON.parse(fs.readFileSync(file, 'utf8')).version;
}

module.exports = { ABOUT, FORMAT, MANIFEST, MAX_ENTRIES, MAX_TEXT_BYTES, PREFIX, programVersion };
