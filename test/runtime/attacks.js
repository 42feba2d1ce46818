'use strict';
// What a hostile owner of a folder does while root works there. Each ends when it has done it, or after a minute.

const fs = require('node:fs');

const LONGEST_MS = 60_000;
const BUSY_MS = 30;

/** @type {Record<string, (folder: string, target: string) => boolean>} true: done */
const ATTACKS = {
  /** Puts a link in place of the file that a repair of the log fills. */
  repair(folder, target) {
    // SQLite has opened it.
    if (!fs.existsSync(`${folder}/log.db.repair-journal`)) return false;
    try {
      fs.unlinkSync(`${folder}/log.db.repair`);
    } catch {
      return false;
    }
    fs.symlinkSync(target, `${folder}/log.db.repair`);
    return true;
  },

  /** Puts another folder in place of the one that a restore fills, with a link to a folder of root. */
  restore(folder, target) {
    const stage = fs.readdirSync(folder).find((name) => /^gw\.restore-[0-9a-f]{8}$/.test(name));
    if (!stage) return false;
    const place = `${folder}/${stage}`;
    // Root is busy with the first file, which is large.
    for (const start = Date.now(); Date.now() - start < BUSY_MS;);
    fs.renameSync(place, `${folder}/moved`);
    fs.mkdirSync(`${place}/home`, { recursive: true, mode: 0o755 });
    fs.writeFileSync(`${place}/home/a`, '');
    fs.symlinkSync(target, `${place}/home/zz`);
    return true;
  },

  /** Puts a link in place of the folder that a restore has filled, before root moves it. */
  'restored-home'(folder, target) {
    const stage = fs.readdirSync(folder).find((name) => /^gw\.restore-[0-9a-f]{8}$/.test(name));
    if (!stage) return false;
    try {
      fs.renameSync(`${folder}/${stage}/home`, `${folder}/${stage}/moved`);
    } catch {
      return false;
    }
    fs.symlinkSync(target, `${folder}/${stage}/home`);
    return true;
  }
};

const [name, folder, target] = process.argv.slice(2);
console.log('ready');
const end = Date.now() + LONGEST_MS;
while (Date.now() < end && !ATTACKS[name](folder, target));
console.log('done');
