'use strict';
// Where the overlay's program is, and its folder.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/**
 * @param {string} given by the node, '' = none
 * @param {NodeJS.ProcessEnv} [env]
 * @param {number} [uid]
 * @returns {string} absolute folder: the default of the program itself
 */
function stateFolder(given, env = process.env, uid = process.getuid?.() ?? 0) {
  if (given) return path.resolve(given);
  if (uid === 0) return '/var/lib/seganet-overlay';
  const home = env.XDG_STATE_HOME?.trim() || path.join(os.homedir(), '.local', 'state');
  return path.join(home, 'seganet-overlay');
}

/** @param {string} folder @returns {string} */
function controlSocket(folder) {
  return path.join(folder, 'control.sock');
}

/** @param {NodeJS.ProcessEnv} [env] @returns {string} the program, '' = there is none for this machine */
function program(env = process.env) {
  const set = env.SEGANET_OVERLAY?.trim();
  if (set) return path.resolve(set);
  const name = 'seganet-overlay';
  try {
    return require.resolve(`@seganet/overlay-${process.platform}-${process.arch}/bin/${name}`);
  } catch {
    const built = path.join(__dirname, '..', '..', '..', 'native', 'out', 'overlay', name);
    return fs.existsSync(built) ? built : '';
  }
}

module.exports = { controlSocket, program, stateFolder };
