'use strict';
// Removes what unbatch nodes left in the user folder that are no longer in the flow. Node-RED closes a node when it is
// disabled, and does not report it when it is deleted after that.

const fs = require('node:fs');
const path = require('node:path');

/** Files of the node ID: ID.json, and the folder ID-dictionaries. */
const NAME = /^(.+?)(?:\.json|-dictionaries)$/s;

/**
 * @param {string} folder
 * @param {Set<string>} ids of all nodes of the flow file
 * @returns {number} removed files and folders
 */
function removeLeftovers(folder, ids) {
  let removed = 0;
  for (const name of namesIn(folder)) {
    const id = idOf(name);
    if (id === '' || isInFlow(id, ids)) continue;
    try {
      fs.rmSync(path.join(folder, name), { recursive: true, force: true });
      removed++;
    } catch {
      // The next start tries again.
    }
  }
  return removed;
}

/** @param {string} folder @returns {string[]} */
function namesIn(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return []; // there is no folder yet
  }
}

/** @param {string} name @returns {string} '' = it is not of a node */
function idOf(name) {
  try {
    return decodeURIComponent(NAME.exec(name)?.[1] ?? '');
  } catch {
    return '';
  }
}

/**
 * @param {string} id of a node. In an instance of a subflow it is INSTANCE-NODE, where INSTANCE may be such an id
 *   again. The flow file does not have NODE if the subflow is of a package
 * @param {Set<string>} ids of all nodes of the flow file
 * @returns {boolean}
 */
function isInFlow(id, ids) {
  if (ids.has(id)) return true;
  for (let at = id.indexOf('-'); at >= 0; at = id.indexOf('-', at + 1))
    if (ids.has(id.slice(0, at))) return true;
  return false;
}

module.exports = { isInFlow, removeLeftovers };
