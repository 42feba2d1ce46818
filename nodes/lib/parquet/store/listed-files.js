'use strict';
// The files of a folder that count, for programs that read them.

const fs = require('node:fs');
const path = require('node:path');
const { MANIFEST, parseManifest, splitKey } = require('./manifest');

/**
 * @param {string} folder of a parquet uplink
 * @returns {string[]} paths of the files that its manifests name, by day
 * @throws {Error} with a sentence, if a manifest cannot be read
 */
function listedFiles(folder) {
  const days = fs.readdirSync(folder).filter((name) => splitKey(`${name}/${MANIFEST}`));
  return days.sort().flatMap((day) => {
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
