'use strict';
// The last backup of each tenant, and whether it was checked: a file in the folder of the tenant's state, which the
// commands write and the keeper reads.

const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');

const MAX_BYTES = 16384;
const MAX_REASON = 1000;

/**
 * @typedef {{ at: number, ok: boolean, reason: string }} Outcome at: ms since 1970; reason: '' = none
 * @typedef {Outcome & { file: string, checked: Outcome | null }} Last file: its name, '' = none was made; checked: null =
 *   it was not
 */

/** @param {string} state folder of the tenants' states @param {string} name */
const fileOf = (state, name) => path.join(state, name, 'backup.json');

/** @param {string} state @param {string} name @returns {Last | null} null = none is known */
function readLast(state, name) {
  try {
    const text = fs.readFileSync(fileOf(state, name), 'utf8');
    if (text.length > MAX_BYTES) return null;
    const { at, ok, reason, file, checked } = JSON.parse(text);
    if (!Number.isFinite(at) || typeof ok !== 'boolean' || typeof reason !== 'string') return null;
    return { at, ok, reason, file: String(file ?? ''), checked: checked ?? null };
  } catch {
    return null;
  }
}

/**
 * Records that a backup ended.
 * @param {string} state
 * @param {string} name
 * @param {Outcome & { file?: string }} outcome file: its path
 */
function noteBackup(state, name, { at, ok, reason, file = '' }) {
  write(state, name, {
    at,
    ok,
    reason: reason.slice(0, MAX_REASON),
    file: path.basename(file),
    checked: null
  });
}

/**
 * Records that a backup was checked, if it is the last one.
 * @param {string} state
 * @param {string} name
 * @param {Outcome & { file: string }} outcome
 */
function noteCheck(state, name, { at, ok, reason, file }) {
  const last = readLast(state, name);
  if (last?.file !== path.basename(file)) return;
  write(state, name, { ...last, checked: { at, ok, reason: reason.slice(0, MAX_REASON) } });
}

/** A backup is valid even if it cannot be recorded. @param {string} state @param {string} name @param {Last} last */
function write(state, name, last) {
  try {
    fs.mkdirSync(path.join(state, name), { recursive: true, mode: 0o700 });
    replaceFile(fileOf(state, name), `${JSON.stringify(last)}\n`);
  } catch {
    // The list then has an older one.
  }
}

/** The last backups, read again when their files change. */
class LastBackups {
  #state;
  /** @type {Map<string, { mtimeMs: number, last: Last | null }>} */
  #known = new Map();

  /** @param {string} state */
  constructor(state) {
    this.#state = state;
  }

  /** @param {string} name @returns {Last | null} */
  get(name) {
    const mtimeMs = fs.statSync(fileOf(this.#state, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const known = this.#known.get(name);
    if (known?.mtimeMs === mtimeMs) return known.last;
    const last = mtimeMs ? readLast(this.#state, name) : null;
    this.#known.set(name, { mtimeMs, last });
    return last;
  }
}

module.exports = { LastBackups, noteBackup, noteCheck, readLast };
