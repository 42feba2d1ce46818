'use strict';

// The addon's C++ files. CMakeLists.txt globs the same folders.

const fs = require('node:fs');
const path = require('node:path');

/** Folders with the addon's sources, relative to this folder. */
const FOLDERS = ['core', 'binding'];

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  return fs
    .readdirSync(path.join(__dirname, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((name) => /\.(cc|h)$/.test(name))
    .sort();
}

/** @returns {string[]} every file with C++ code of the addon, relative to this folder */
const allFiles = () => FOLDERS.flatMap(filesIn);

/** @returns {string[]} those that are compiled, the others being headers */
const sources = () => allFiles().filter((name) => name.endsWith('.cc'));

module.exports = { allFiles, sources };
