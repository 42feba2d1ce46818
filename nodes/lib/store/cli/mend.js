'use strict';
// Splits a damaged chunk into its intact batches and the remaining bytes.

const { CLASSES } = require('../../base/classes');
const chunks = require('../log-chunk');
const { HEAD_BYTES, ENTRY_BYTES } = chunks;

/** @typedef {import('../log-chunk').Entry} Entry */
/** @typedef {import('./walk').Row} Row */
/**
 * @typedef {object} Mended
 * @property {string} error '' = the chunk is intact
 * @property {{ body: Buffer, class: number, records: number, firstTs: number, lastTs: number } | null} kept an intact
 *   chunk
 * @property {{ body: Buffer, records: number } | null} rest null = nothing is lost
 */

/**
 * Limits the bytes checked in search of batches to this multiple of a chunk's length: hostile bytes must not take
 * forever.
 */
const SEARCH_PASSES = 16;
// A JS number represents an epoch exactly up to here; Date.now() * 1024 gets there in the year 2248.
const LARGEST_EPOCH = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Finds the batches behind an entry whose length is damaged too: from the first position from which intact entries
 * follow each other to the very end. That end, and the number of batches, exclude bytes in a device's payload that
 * merely look like an entry.
 * @param {Buffer} bytes
 * @param {number} from
 * @param {number} limit
 * @param {number} most entries that there can be
 * @returns {Entry[]}
 */
function search(bytes, from, limit, most) {
  let budget = SEARCH_PASSES * bytes.length;
  for (let start = from; start + ENTRY_BYTES <= limit && budget > 0; start++) {
    /** @type {Entry[]} */
    const found = [];
    let at = start;
    while (at < limit && found.length < most) {
      const end = chunks.entryEnd(bytes, at, limit);
      if (end === 0) break;
      budget -= chunks.isPlausible(bytes, at) ? end - at : 0;
      if (budget < 0 || !chunks.isSound(bytes, at, end)) break;
      found.push(chunks.readEntry(bytes, at, end));
      at = end;
    }
    if (at === limit) return found;
  }
  return [];
}

/**
 * @param {Buffer} bytes
 * @param {import('../log-chunk').Reading} reading
 * @returns {Entry[]}
 */
function soundEntries(bytes, { head, entries }) {
  const limit = head ? Math.min(HEAD_BYTES + head.bytes, bytes.length) : bytes.length;
  let at = HEAD_BYTES;
  for (let end = at; end !== 0 && at < limit; at = end || at) end = chunks.entryEnd(bytes, at, limit);
  if (at >= limit) return entries; // all lengths are right: readChunk() found every entry
  const behind = entries.length > 0 ? entries[entries.length - 1].end : HEAD_BYTES;
  const most = head ? head.batches - entries.length - 1 : 65535;
  return [...entries, ...search(bytes, behind + ENTRY_BYTES, limit, most)];
}

/**
 * @param {Buffer} bytes
 * @param {Entry[]} entries in their order
 * @returns {Buffer} the bytes between them
 */
function without(bytes, entries) {
  const parts = [];
  let at = 0;
  for (const entry of entries) {
    parts.push(bytes.subarray(at, entry.at));
    at = entry.end;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

/**
 * Returns the epoch of a damaged head, which is most likely right. If it is not, the cloud may receive records twice
 * under two keys.
 * @param {Buffer} bytes
 */
function epochOf(bytes) {
  const { epoch } = chunks.headFields(bytes);
  return epoch > 0n && epoch <= LARGEST_EPOCH ? epoch : BigInt(Date.now()) * 1024n;
}

/**
 * @param {Buffer} bytes a chunk
 * @param {Row} row the chunk's row in the table
 * @returns {Mended}
 */
function mend(bytes, row) {
  const reading = chunks.readChunk(bytes);
  const entries = reading.error === '' ? reading.entries : soundEntries(bytes, reading);
  const times = {
    firstTs: entries.reduce((least, entry) => Math.min(least, entry.firstTs), Infinity),
    lastTs: entries.reduce((most, entry) => Math.max(most, entry.lastTs), -Infinity)
  };
  const records = entries.reduce((sum, entry) => sum + entry.records, 0);
  const cls = reading.head?.class ?? row.class;
  if (reading.error === '') {
    return { error: '', kept: { body: bytes, class: cls, records, ...times }, rest: null };
  }
  if (entries.length === 0 || cls < 1 || cls > CLASSES) {
    return { error: reading.error, kept: null, rest: { body: bytes, records: row.records } };
  }
  const body = chunks.joinChunk(
    { class: cls, epoch: epochOf(bytes), records, batches: entries.length },
    entries.map(({ at, end }) => bytes.subarray(at, end))
  );
  const lost = Math.max(0, (reading.head?.records ?? row.records) - records);
  const rest = without(bytes, entries);
  const nothingLost = lost === 0 && rest.length <= HEAD_BYTES;
  return {
    error: reading.error,
    kept: { body, class: cls, records, ...times },
    rest: nothingLost ? null : { body: rest, records: lost }
  };
}

module.exports = { mend };
