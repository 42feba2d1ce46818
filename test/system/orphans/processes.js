'use strict';
// Finds the processes of one round by a folder that only they have in their variable PATH, which all programs pass on.

const fs = require('node:fs');

/** @typedef {{ pid: number, parent: number, command: string }} Found */

/** @param {string} mark the folder @returns {Found[]} those that have not ended */
function marked(mark) {
  return fs.readdirSync('/proc').flatMap((name) => {
    try {
      if (!/^\d+$/.test(name) || !fs.readFileSync(`/proc/${name}/environ`, 'latin1').includes(`${mark}:`))
        return [];
      const stat = fs.readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') return [];
      const command = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [{ pid: Number(name), parent: Number(parent), command }];
    } catch {
      return []; // It ended meanwhile, or is another user's.
    }
  });
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

module.exports = { marked, send };
