'use strict';

// Joins the units of a folder to one, so that the compiler reads the headers they share once: four targets compile in
// the time of one. Units that cannot be joined, as one header redefines what another defines, compile alone.

const fs = require('node:fs');
const path = require('node:path');
const { units } = require('../sources');
const { ROOT } = require('./toolchain');

/** @param {string} source relative to native/ @returns {import('../compile').Unit} */
const alone = (source) => ({
  source: path.posix.join('native', source),
  name: source.replace(/\.cc$/, '')
});

/**
 * Writes the joined units, those that changed.
 * @param {string} folder for them, inside the repository
 * @returns {import('../compile').Unit[]} one for each folder of sources
 */
function joinedUnits(folder) {
  const folders = Map.groupBy(units(), (source) => path.posix.dirname(source));
  fs.mkdirSync(folder, { recursive: true });
  return [...folders].map(([name, sources]) => {
    const file = path.join(folder, `${name.replaceAll('/', '-')}.cc`);
    const text = sources.map((source) => `#include "${source}"\n`).join('');
    if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) fs.writeFileSync(file, text);
    return {
      source: path.relative(ROOT, file),
      name: `joined/${name}`,
      parts: sources.map(alone)
    };
  });
}

module.exports = { joinedUnits };
