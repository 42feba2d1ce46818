'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { compilePreload } = require('../../fixtures/store/disk-shim');

/**
 * Makes a process sync some files slowly. Needs cc.
 * @param {number} ms that a sync takes longer
 * @param {string} part of the names of the files
 * @returns {{ env: Record<string, string>, remove: () => void }} variables of the process
 */
function compileSlowSync(ms, part) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-slow-sync-'));
  const library = compilePreload(path.join(__dirname, 'slow-sync.c'), folder);
  return {
    env: { LD_PRELOAD: library, SLOW_SYNC_MS: String(ms), SLOW_SYNC_FILE: part },
    remove: () => fs.rmSync(folder, { recursive: true })
  };
}

exports.compileSlowSync = compileSlowSync;
