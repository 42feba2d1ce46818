'use strict';
// The rows of a range as text: NDJSON, CSV, JSON, or the JSON of Grafana. The work is cut into pieces,
// so that records are stored in between.

const { Pacer } = require('./pacer');

/** Rows of a piece: some milliseconds. */
const PIECE_ROWS = 2000;

/** @typedef {import('./series-reader').Answer} Answer */

/** @param {string} text @returns {string} a field of CSV (RFC 4180) */
function field(text) {
  // A spreadsheet would run a text that begins like a formula.
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** @typedef {(columns: import('./series-reader').Columns, i: number) => string} Row the text of one row */

/** @param {Answer} answer @param {boolean} hasSteps */
function* csv({ series }, hasSteps) {
  yield hasSteps ? 'ts,device,name,mean,min,max,count\r\n' : 'ts,device,name,value\r\n';
  for (const { device, name, columns } of series) {
    const key = `${field(device)},${field(name)}`;
    yield* rows(columns, ({ ts, value, low, high, count }, i) => {
      const tail = hasSteps ? `,${low[i]},${high[i]},${count[i]}` : '';
      return `${new Date(ts[i]).toISOString()},${key},${value[i]}${tail}\r\n`;
    });
  }
}

/** @param {Answer} answer @param {boolean} hasSteps */
function* ndjson({ series }, hasSteps) {
  for (const { device, name, columns } of series) {
    const key = `"device":${JSON.stringify(device)},"name":${JSON.stringify(name)}`;
    yield* rows(columns, ({ ts, value, low, high, count }, i) =>
      hasSteps
        ? `{"ts":${ts[i]},${key},"mean":${value[i]},"min":${low[i]},"max":${high[i]},"count":${count[i]}}\n`
        : `{"ts":${ts[i]},${key},"value":${value[i]}}\n`
    );
  }
}

/** For the data source "JSON" of Grafana. @param {Answer} answer */
function* grafana({ series }) {
  let between = '[';
  for (const { device, name, columns } of series) {
    yield `${between}{"target":${JSON.stringify(`${device}|${name}`)},"datapoints":[`;
    yield* rows(columns, ({ ts, value }, i) => `${i > 0 ? ',' : ''}[${value[i]},${ts[i]}]`);
    yield ']}';
    between = ',';
  }
  yield between === '[' ? '[]' : ']';
}

/** @param {import('./series-reader').Columns} columns @param {Row} row @returns {Generator<string>} pieces */
function* rows(columns, row) {
  const { length } = columns.ts;
  for (let from = 0; from < length; from += PIECE_ROWS) {
    let text = '';
    for (let i = from; i < Math.min(length, from + PIECE_ROWS); i++) text += row(columns, i);
    yield text;
  }
}

const TYPES = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  grafana: 'application/json; charset=utf-8'
};

/**
 * @param {Answer} answer
 * @param {keyof typeof TYPES} format
 * @param {boolean} hasSteps
 * @param {Pick<import('./pacer').Pacer, 'pause'>} [pacer]
 * @returns {Promise<{ type: string, text: string, next: number | null }>}
 */
async function textOf(answer, format, hasSteps, pacer = new Pacer()) {
  const pieces = [];
  for (const piece of { csv, ndjson, grafana }[format](answer, hasSteps)) {
    pieces.push(piece);
    await pacer.pause();
  }
  return { type: TYPES[format], text: pieces.join(''), next: answer.next };
}

module.exports = { textOf };
