'use strict';

// Prints the addon's C++ files, relative to this folder, for binding.gyp. CMakeLists.txt globs the same folders.

const fs = require('node:fs');
const path = require('node:path');

/** @param {string} folder @returns {string[]} */
function sources(folder) {
  return fs
    .readdirSync(path.join(__dirname, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return sources(name);
      return name.endsWith('.cc') ? [name] : [];
    });
}

console.log(['core', 'binding'].flatMap(sources).join(' '));
