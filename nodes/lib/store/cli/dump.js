'use strict';

const { traceFields } = require('../../base/trace-context');
const { KIND, batchKey, splitEntries, splitLines, splitSingle } = require('../batch-records');
const { readChunk } = require('../log-chunk');
const { checkRows } = require('./check');
const { openToRead } = require('./open');
const { EXIT } = require('./log-error');
const { faultLine, gapLine } = require('./verify');

/** @typedef {import('../log-chunk').Entry} Entry */

const NOTHING = Buffer.alloc(0);
const RETAIN_FLAG = 2; // Flag.RETAIN of the engine
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Buffer} bytes @returns {string} JSON on one line, '' = the bytes are not JSON */
function asJson(bytes) {
  try {
    const text = utf8.decode(bytes);
    JSON.parse(text);
    // A JSON string contains no raw line break, so every one here is white space.
    return text.replace(/[\r\n]/g, ' ').trim();
  } catch {
    return '';
  }
}

/** @param {Buffer} payload @returns {string} the member of the line */
function payloadMember(payload) {
  const json = asJson(payload);
  return json === '' ? `"base64":${JSON.stringify(payload.toString('base64'))}` : `"payload":${json}`;
}

/**
 * Parses a line of an envelope. The payload is copied as it is written: numbers keep all their digits.
 * @param {Buffer} line
 * @returns {{ fields: Record<string, unknown>, payload: string } | null} null = a line in another format, made by a
 *   flow
 */
function envelopeLine(line) {
  try {
    const text = utf8.decode(line);
    const { d: device, t: topic, ts, s: seq, p, b, traceparent, tracestate } = JSON.parse(text);
    if (typeof device !== 'string') return null;
    const fields = { device, topic, ts, seq, traceparent, tracestate };
    if (p === undefined) return { fields, payload: `"base64":${JSON.stringify(b)}` };
    const as = text.slice(text.indexOf(',"p":') + 5, text.lastIndexOf('}'));
    return { fields, payload: `"payload":${asJson(Buffer.from(as)) || JSON.stringify(p)}` };
  } catch {
    return null;
  }
}

/** @param {Entry} entry @returns {Generator<{ fields: Record<string, unknown>, payload: string }>} */
function* records(entry) {
  if (entry.kind === KIND.ENVELOPE) {
    for (const line of splitLines(entry.bytes)) {
      yield envelopeLine(line) ?? { fields: { ts: entry.firstTs }, payload: payloadMember(line) };
    }
    return;
  }
  for (const parts of entry.kind === KIND.SINGLE ? [splitSingle(entry)] : splitEntries(entry.bytes)) {
    yield {
      fields: {
        device: parts.device.toString(),
        topic: parts.topic.toString(),
        ...(parts.stamp ?? timesOf(entry)),
        ...(parts.flags & RETAIN_FLAG && { retain: true }),
        ...traceFields(parts.trace)
      },
      payload: payloadMember(parts.payload)
    };
  }
}

/** Returns the times of a batch, for its records that have none of their own. @param {Entry} entry */
function timesOf({ firstTs, lastTs }) {
  return { ts: firstTs, ...(lastTs !== firstTs && { lastTs }) };
}

/**
 * Yields the records of a chunk as lines.
 * @param {import('./walk').Row} row
 * @param {Buffer} body an intact chunk
 * @param {string} table
 */
function* lines(row, body, table) {
  const { head, entries } = readChunk(body);
  if (!head) return;
  for (const entry of entries) {
    const key = batchKey(head, entry);
    let index = 0;
    for (const { fields, payload } of records(entry)) {
      const rest = {
        class: head.class,
        node: row.node,
        row: row.id,
        key,
        index: index++,
        ...(table !== 'chunk' && { at: row.at, reason: row.reason }),
        ...(table === 'dead' && { code: row.code })
      };
      yield `${JSON.stringify({ ...fields, ...rest }).slice(0, -1)},${payload}}`;
    }
  }
}

/**
 * @param {import('./open').Place} place
 * @param {{ table: import('./walk').Table, class: number, node?: string, limit: number }} options class 0 = all
 * @param {import('../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function dump(place, options, output) {
  const db = openToRead(place.file);
  /** @param {import('./walk').Row} row */
  const wanted = (row) =>
    (options.class === 0 || row.class === options.class) &&
    (options.node === undefined || row.node === options.node);
  let left = options.limit;
  let faults = 0;
  /** @param {string} line */
  const fault = (line) => {
    // Rows in quarantine are known to be damaged.
    if (options.table !== 'quarantine') faults += 1;
    return output.note(line);
  };
  try {
    for (const checked of checkRows(db, options.table, output, wanted)) {
      if (left <= 0 || output.isClosed) break;
      if (checked.gap) {
        await fault(gapLine(checked.gap, options.table));
        continue;
      }
      const { row, mended } = checked;
      try {
        for (const line of lines(row, mended?.kept?.body ?? NOTHING, options.table)) {
          if (left-- <= 0) break;
          await output.line(line);
        }
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        await fault(`${options.table} ${row.id}: ${error.message}`);
      }
      if (checked.fault !== '') await fault(faultLine(checked, options.table));
    }
  } finally {
    db.close();
  }
  return faults === 0 ? EXIT.OK : EXIT.DAMAGE;
}

module.exports = { dump };
