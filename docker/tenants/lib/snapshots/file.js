'use strict';
// Files of snapshots: network-20261123T060000000Z.ndjson. The first line is of type `snapshot`, the last one of type
// `end` with the number of lines between; docs/use/tenants-backup.md lists the others.

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { CliError, messageOf } = require('../base/errors');
const { syncFolder } = require('../../../../nodes/lib/base/replace-file');

const VERSION = 1;
const NAME = /^network-(\d{8}T\d{9}Z)\.ndjson$/;
const MAX_LINE = 64 << 10;
const MAX_LINES = 1_000_000;

/** @typedef {import('./gateway-api').Line} Line */

/**
 * Writes a snapshot and removes the oldest ones.
 * @param {object} what
 * @param {string} what.folder
 * @param {string} what.source where it comes from
 * @param {AsyncIterable<Line>} what.lines
 * @param {Date} what.now
 * @param {number} what.keep snapshots
 * @returns {Promise<{ file: string, counts: Record<string, number> }>} counts: lines by type
 */
async function writeSnapshot({ folder, source, lines, now, keep }) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, `network-${now.toISOString().replace(/[-:.]/g, '')}.ndjson`);
  const draft = `${file}.part`;
  const out = fs.openSync(draft, 'w', 0o600);
  /** @type {Record<string, number>} */
  const counts = {};
  try {
    const write = (/** @type {object} */ line) => fs.writeSync(out, `${JSON.stringify(line)}\n`);
    write({ type: 'snapshot', version: VERSION, at: now.toISOString(), source });
    for await (const line of lines) {
      write(line);
      counts[line.type] = (counts[line.type] ?? 0) + 1;
    }
    write({ type: 'end', lines: Object.values(counts).reduce((all, count) => all + count, 0) });
    fs.fsyncSync(out);
    fs.renameSync(draft, file);
    syncFolder(folder);
  } finally {
    fs.closeSync(out);
    fs.rmSync(draft, { force: true });
  }
  for (const each of listSnapshots(folder).slice(keep)) fs.rmSync(each, { force: true });
  return { file, counts };
}

/** @param {string} folder @returns {string[]} files, the newest first */
function listSnapshots(folder) {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  const found = names
    .filter((name) => NAME.test(name))
    .sort()
    .reverse();
  return found.map((name) => path.join(folder, name));
}

/**
 * @param {string} file
 * @returns {Promise<{ at: string, source: string, lines: Line[] }>} without the first and the last line
 * @throws {CliError}
 */
async function readSnapshot(file) {
  const refused = (/** @type {string} */ why) => new CliError(`${file} cannot be used: ${why}.`);
  /** @type {Line[]} */
  const lines = [];
  try {
    const input = fs.createReadStream(file);
    for await (const text of readline.createInterface({ input, crlfDelay: Infinity })) {
      if (text.length > MAX_LINE || lines.length > MAX_LINES) throw refused('it is too long for a snapshot');
      const line = JSON.parse(text);
      if (typeof line?.type !== 'string') throw refused('it is not a snapshot');
      lines.push(line);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw refused(error instanceof SyntaxError ? 'it is not a snapshot, or it is damaged' : messageOf(error));
  }
  const [first, ...rest] = lines;
  const last = rest.pop();
  if (first?.type !== 'snapshot' || typeof first.at !== 'string') throw refused('it is not a snapshot');
  if (Number(first.version) > VERSION) throw refused('a newer version wrote it');
  if (last?.type !== 'end' || last.lines !== rest.length) throw refused('it is cut short');
  return { at: first.at, source: String(first.source ?? ''), lines: rest };
}

module.exports = { listSnapshots, readSnapshot, writeSnapshot };
