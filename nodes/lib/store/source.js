'use strict';

/**
 * The store thread's end of the engine, as native/index.d.ts documents it.
 * @typedef {object} StoreSource
 * @property {(maxRow: number, records: number[]) => void} opened
 * @property {() => number} due
 * @property {(into: Uint8Array, meta: Float64Array) => number} take
 * @property {(ticket: number, row: number) => void} committed
 * @property {(ticket: number) => void} failed
 * @property {(ticket: number) => void} dropped
 * @property {(into: Float64Array) => number} frees
 * @property {() => void} freed
 * @property {(row: number, recordClass: number, records: number) => void} removed
 * @property {(meta: Float64Array) => string | null} wanted
 * @property {(row: number, records: number, body: Uint8Array) => 'ok' | 'corrupt' | 'expired'} loaded
 * @property {() => void} missing
 * @property {() => void} close
 */

module.exports = {};
