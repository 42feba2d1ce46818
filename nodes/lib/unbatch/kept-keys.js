'use strict';
// The memory of an unbatch node outlives an orderly end of Node-RED in a file. Without it, or after a crash, copies
// pass.

const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../base/replace-file');

const VERSION = 1;
/** More than a full memory takes. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Of a gateway, of a gateway behind a Sparkplug edge node, or of a device (known-records.js). */
const LANE = /^(?:spBv1\.0\/[^/+#\0]+\/[^/+#\0]+\+)?[^/+#\0]{1,128}\/[0-9a-z]{1,11}\/[1-8]$/;
const PART = /^\d{1,16}(?:\.\d{1,10})?$/;

/** @typedef {import('./key-window').KeyWindow} KeyWindow */

/**
 * @param {string} file
 * @param {KeyWindow} seen empty
 */
function readKeys(file, seen) {
  let kept;
  try {
    if (fs.statSync(file).size > MAX_BYTES) return;
    kept = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return; // there is none, or it is damaged
  }
  if (kept?.version !== VERSION || !Array.isArray(kept.lanes)) return;
  for (const [lane, keys] of kept.lanes.filter(isLane))
    for (const [part, count] of keys.filter(isKey)) seen.restore(lane, part, count);
}

/** @param {unknown} given */
function isLane(given) {
  return Array.isArray(given) && LANE.test(String(given[0])) && Array.isArray(given[1]);
}

/** @param {unknown} given */
function isKey(given) {
  return (
    Array.isArray(given) && PART.test(String(given[0])) && Number.isSafeInteger(given[1]) && given[1] > 0
  );
}

/**
 * @param {string} file
 * @param {KeyWindow} seen
 */
function writeKeys(file, seen) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  replaceFile(file, JSON.stringify({ version: VERSION, lanes: seen.entries() }));
}

module.exports = { readKeys, writeKeys };
