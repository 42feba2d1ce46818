'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/**
 * Makes a process sync some files slowly. Needs cc.
 * @param {number} ms that a sync takes longer
 * @param {string} part of the names of the files
 * @returns {{ env: Record<string, string>, remove: () => void }} variables of the process
 */
function compileSlowSync(ms, part) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-slow-sync-'));
  const library = path.join(folder, 'slow-sync.so');
  const source = path.join(__dirname, 'slow-sync.c');
  const { status, stderr } = spawnSync('cc', [
    '-O1',
    '-Wall',
    '-shared',
    '-fPIC',
    '-o',
    library,
    source,
    '-ldl'
  ]);
  if (status !== 0) throw new Error(`cc: ${stderr}`);
  return {
    env: { LD_PRELOAD: library, SLOW_SYNC_MS: String(ms), SLOW_SYNC_FILE: part },
    remove: () => fs.rmSync(folder, { recursive: true })
  };
}

exports.compileSlowSync = compileSlowSync;
