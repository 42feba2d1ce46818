'use strict';

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..', '..', '..');

/**
 * Returns how a user installs a package that the gateway can use but does not bring: the end of a sentence.
 * @param {string} spec such as pg@8.23.1
 * @param {string} [root] folder of the gateway's package, for tests
 * @returns {string} such as: run "npm install pg@8.23.1" in /home/pi/.node-red
 */
function howToInstall(spec, root = ROOT) {
  const [above, ...rest] = root.split(`${path.sep}node_modules${path.sep}`);
  const folder = rest.length > 0 ? above : root;
  // Where npm keeps global packages, the folder is no package, and a plain "npm install" there would remove the others.
  const isGlobal = !fs.existsSync(path.join(folder, 'package.json'));
  return isGlobal ? `run "npm install -g ${spec}"` : `run "npm install ${spec}" in ${folder}`;
}

module.exports = { howToInstall };
