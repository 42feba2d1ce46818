'use strict';
// The files of a folder that count, for programs that read them.

const fs = require('node:fs');
const path = require('node:path');
const { isAmong } = require('./days');
const { MANIFEST, parseManifest, splitKey } = require('./manifest');

const ALL = { from: '', to: '' };

/**
 * @param {string} folder of a parquet uplink
 * @param {import('./days').Days} [days]
 * @returns {string[]} paths of the files that its manifests of these days name, by day
 * @throws {Error} with a sentence, if a manifest cannot be read
 */
function listedFiles(folder, days = ALL) {
  const folders = fs.readdirSync(folder).filter((name) => {
    const at = splitKey(`${name}/${MANIFEST}`);
    return at !== null && isAmong(days, at.date);
  });
  return folders.sort().flatMap((day) => {
    const file = path.join(folder, day, MANIFEST);
    if (!fs.existsSync(file)) return [];
    try {
      const runs = parseManifest(fs.readFileSync(file, 'utf8'));
      return runs.flatMap(({ files }) => files.map(({ name }) => path.join(folder, day, name)));
    } catch (error) {
      throw new Error(`The manifest ${file} ${/** @type {Error} */ (error).message}.`, { cause: error });
    }
  });
}

exports.listedFiles = listedFiles;
