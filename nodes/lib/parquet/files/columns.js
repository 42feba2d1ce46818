'use strict';
// The schema of the files (docs/use/parquet.md), and how rows become columns. A change is a new version of the format.

/** @typedef {import('./row').Row} Row */

const FORMAT = '1';
const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
const REQUIRED = { repetition_type: 'REQUIRED' };
const OPTIONAL = { repetition_type: 'OPTIONAL' };
const DELTA = 'DELTA_BINARY_PACKED';

/**
 * name, type, how it is encoded if not by a dictionary, and the value of a row
 * @type {{ name: string, type: object, encoding?: string, of: (rows: Row[]) => ArrayLike<unknown> }[]}
 */
const COLUMNS = [
  { name: 'device', type: { ...TEXT, ...REQUIRED }, of: (rows) => rows.map(({ device }) => device) },
  { name: 'topic', type: { ...TEXT, ...REQUIRED }, of: (rows) => rows.map(({ topic }) => topic) },
  {
    name: 'ts',
    type: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      ...REQUIRED
    },
    encoding: DELTA,
    of: (rows) => BigInt64Array.from(rows, ({ ts }) => BigInt(Math.round(ts)))
  },
  { name: 'value', type: { type: 'DOUBLE', ...OPTIONAL }, of: (rows) => rows.map(({ value }) => value) },
  { name: 'unit', type: { ...TEXT, ...OPTIONAL }, of: (rows) => rows.map(({ unit }) => unit) },
  {
    name: 'payload',
    type: { type: 'BYTE_ARRAY', ...REQUIRED },
    encoding: 'PLAIN',
    of: (rows) => rows.map(({ payload }) => payload)
  },
  {
    name: 'class',
    type: { type: 'INT32', ...REQUIRED },
    of: (rows) => Int32Array.from(rows, (row) => row.class)
  },
  {
    name: 'seq',
    type: { type: 'INT32', converted_type: 'UINT_32', ...OPTIONAL },
    encoding: DELTA,
    of: (rows) => rows.map(({ seq }) => seq)
  },
  { name: 'gateway', type: { ...TEXT, ...REQUIRED }, of: (rows) => rows.map(({ gateway }) => gateway) },
  { name: 'boot', type: { ...TEXT, ...REQUIRED }, of: (rows) => rows.map(({ boot }) => boot) },
  {
    name: 'sequence',
    type: { type: 'INT64', ...REQUIRED },
    encoding: DELTA,
    of: (rows) => BigInt64Array.from(rows, ({ sequence }) => BigInt(sequence))
  },
  {
    name: 'part',
    type: { type: 'INT32', ...REQUIRED },
    encoding: DELTA,
    of: (rows) => Int32Array.from(rows, ({ part }) => part)
  }
];

const SCHEMA = [
  { name: 'records', num_children: COLUMNS.length },
  ...COLUMNS.map(({ name, type }) => ({ name, ...type }))
];

/** @param {Row[]} rows */
const toColumns = (rows) => COLUMNS.map(({ name, encoding, of }) => ({ name, encoding, data: of(rows) }));

/** @param {any} read a row as the library reads it @returns {Row} */
function toRow(read) {
  return { ...read, ts: read.ts.getTime(), sequence: Number(read.sequence) };
}

module.exports = { COLUMNS, FORMAT, SCHEMA, toColumns, toRow };
