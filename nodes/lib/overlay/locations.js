'use strict';
// Where the overlay's program is, and its folder.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { version } = require('../../../package.json');
const { howToInstall } = require('../base/texts/how-to-install');

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

/** Platforms for which there is a package with the program. */
const PACKAGED = ['linux-x64', 'linux-arm64'];

/** @param {string} [platform] @returns {string} why there is no program, with the remedy: a sentence */
function noProgram(platform = `${process.platform}-${process.arch}`) {
  const missing = 'The program seganet-overlay is missing';
  if (!PACKAGED.includes(platform))
    return `${missing}, and there is no package with it for ${platform}. Name the program in SEGANET_OVERLAY.`;
  return `${missing}: ${howToInstall(`@seganet/overlay-${platform}@${version}`)}, or name the program in SEGANET_OVERLAY, then restart.`;
}

module.exports = { controlSocket, noProgram, program, stateFolder };
