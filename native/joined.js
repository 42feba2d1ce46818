'use strict';

// Joins the sources of a folder, so that the compiler reads the headers that they share once: the addon compiles in
// less than half of the time.

const fs = require('node:fs');
const path = require('node:path');
const { sources } = require('./sources');

/** Has the names of <netinet/tcp.h>, which libuv's header includes: no unit can have both. */
const KERNEL_HEADER = '<linux/tcp.h>';

/** @returns {Map<string, string[]>} the sources of each folder that can be together */
function groups() {
  /** @type {Map<string, string[]>} */
  const all = new Map();
  for (const source of sources()) {
    const ofKernel = fs.readFileSync(path.join(__dirname, source), 'utf8').includes(KERNEL_HEADER);
    const name = path.posix.dirname(source).replaceAll('/', '-') + (ofKernel ? '-kernel' : '');
    all.set(name, [...(all.get(name) ?? []), source]);
  }
  return all;
}

/** @param {string[]} all @param {number} most @returns {string[][]} parts of about the same length */
function split(all, most) {
  const parts = Math.ceil(all.length / most);
  return Array.from({ length: parts }, (_, part) =>
    all.slice(Math.round((part * all.length) / parts), Math.round(((part + 1) * all.length) / parts))
  );
}

/**
 * Writes the joined units, those that changed.
 * @param {string} folder for them
 * @param {string} cwd where the compiler runs
 * @param {number} [most] sources in a unit
 * @returns {import('./compile').Unit[]}
 */
function joinedUnits(folder, cwd, most = Infinity) {
  fs.mkdirSync(folder, { recursive: true });
  return [...groups()].flatMap(([name, all]) =>
    split(all, Math.min(most, all.length)).map((part, index) => {
      const unit = `${name}${index > 0 ? `-${index + 1}` : ''}`;
      const file = path.join(folder, `${unit}.cc`);
      const text = part.map((source) => `#include "${source}"\n`).join('');
      if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) fs.writeFileSync(file, text);
      return { source: path.relative(cwd, file), name: unit };
    })
  );
}

module.exports = { joinedUnits };
