'use strict';
// The temporary folder of a demo. kill -9 leaves it behind, so each start of a demo removes the folders of those whose
// process is gone.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isGone, ownIdentity } = require('../../launcher/together');

const NAME = /^seganet-(?:cloud|o|t)-\w{6}$/;
/** In each folder: the process that made it. */
const OWNER = '.demo.json';

/**
 * Makes a folder for this process, and removes those of demos that were killed.
 * @param {'cloud' | 'o' | 't'} kind short, because paths of sockets are
 * @returns {{ home: string, remove: () => void }}
 */
function makeFolder(kind) {
  removeLeftFolders();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), `seganet-${kind}-`));
  fs.writeFileSync(path.join(home, OWNER), JSON.stringify(ownIdentity()));
  return { home, remove: () => removeFolder(home) };
}

function removeLeftFolders() {
  try {
    for (const name of fs.readdirSync(os.tmpdir())) {
      const folder = path.join(os.tmpdir(), name);
      if (NAME.test(name) && isLeft(folder)) removeFolder(folder);
    }
  } catch {
    // It is no reason not to start; the next demo tries again.
  }
}

/** True for a folder of this user whose demo has ended. @param {string} folder */
function isLeft(folder) {
  try {
    const stat = fs.lstatSync(folder);
    if (!stat.isDirectory() || stat.uid !== process.getuid?.()) return false;
    const { pid, start } = JSON.parse(fs.readFileSync(path.join(folder, OWNER), 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 && isGone({ pid, start });
  } catch {
    // Another program's, or one that is being made or removed.
    return false;
  }
}

/** @param {string} folder */
const removeFolder = (folder) => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });

module.exports = { OWNER, makeFolder };
