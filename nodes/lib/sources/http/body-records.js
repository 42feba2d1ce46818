'use strict';
// Converts a request body to records: the body is one payload, or a list as NDJSON or a JSON array. The whole list is
// checked before any of its records is accepted.

const { FLAG } = require('../../base/record');
const { tenantId } = require('../../base/tenant-id');
const { traceOf } = require('../../base/trace-context');
const { toClassOrRefuse, toDevice, toTime, toTopic } = require('./record-fields');
const { HttpRefusal } = require('./http-refusal');

const NDJSON = ['application/x-ndjson', 'application/ndjson', 'application/jsonl'];
const JSON_TYPE = 'application/json';
const MAX_RECORDS = 10000;
const NORMAL = 3;

/**
 * @typedef {object} Limits
 * @property {number} maxPayloadBytes of a record
 * @property {number} class of a record without one, 0 = normal
 * @property {(device: string) => boolean} allows
 * @property {(device: string, topic: string) => boolean} mayPublish
 * @property {string} [tenant] of the request's devices, '' = none
 * @property {string} [trace] context of the request, as traceOf() returns it; of each record without its own
 *
 * @typedef {object} Document
 * @property {import('../../base/record').RecordArgs[]} records
 * @property {(index: number) => object} place position of a record in the body, for the response
 */

/**
 * Returns the kind of the body, before it is read.
 * @param {import('./http-route').Route} route
 * @param {string} type media type, lower case
 * @returns {'one' | 'lines' | 'array'}
 * @throws {HttpRefusal} 415
 */
function kindOf(route, type) {
  if (NDJSON.includes(type)) return 'lines';
  if (type === JSON_TYPE && (route.batch || route.device === '')) return 'array';
  if (route.device !== '' && !route.batch) return 'one';
  throw new HttpRefusal(
    415,
    'A list of records must be application/x-ndjson or application/json. A single record is posted to the path of its device.'
  );
}

/**
 * @param {'one' | 'lines' | 'array'} kind
 * @param {Buffer} body
 * @param {import('./http-route').Route} route
 * @param {Limits} limits
 * @returns {Document}
 * @throws {HttpRefusal}
 */
function readDocument(kind, body, route, limits) {
  if (kind === 'one') {
    const { device: deviceId, topic, cls, ts } = route;
    const record = recordOf({ deviceId, topic, cls, ts, payload: body }, limits);
    return { records: [record], place: () => ({}) };
  }
  const text = decode(body);
  return kind === 'lines' ? readLines(text, route, limits) : readArray(text, route, limits);
}

/**
 * @param {string} text
 * @param {import('./http-route').Route} route
 * @param {Limits} limits
 * @returns {Document}
 */
function readLines(text, route, limits) {
  /** @type {number[]} */
  const lines = [];
  /** @type {import('../../base/record').RecordArgs[]} */
  const records = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    lines.push(index + 1);
    limitCount(lines.length);
    records.push(at({ line: index + 1 }, () => listed(parse(line), route, limits)));
  }
  return filled({ records, place: (index) => ({ line: lines[index] }) });
}

/**
 * @param {string} text
 * @param {import('./http-route').Route} route
 * @param {Limits} limits
 * @returns {Document}
 */
function readArray(text, route, limits) {
  const items = parse(text);
  if (!Array.isArray(items)) throw new HttpRefusal(400, 'The body must be a JSON array of records.');
  limitCount(items.length);
  const records = items.map((item, index) => at({ record: index + 1 }, () => listed(item, route, limits)));
  return filled({ records, place: (index) => ({ record: index + 1 }) });
}

/** @param {Document} document */
function filled(document) {
  if (document.records.length === 0) throw new HttpRefusal(400, 'The body contains no record.');
  return document;
}

/** @param {number} count */
function limitCount(count) {
  if (count > MAX_RECORDS)
    throw new HttpRefusal(
      413,
      `A request may contain at most ${MAX_RECORDS} records. Send several requests.`
    );
}

/**
 * Adds the place to a refusal.
 * @template T
 * @param {{ line?: number, record?: number }} place
 * @param {() => T} read
 */
function at(place, read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error;
    const where = place.line ? `Line ${place.line}` : `Record ${place.record}`;
    throw new HttpRefusal(error.status, `${where}: ${error.message}`, { body: { ...place, accepted: 0 } });
  }
}

/** @param {unknown} item @param {import('./http-route').Route} route @param {Limits} limits */
function listed(item, route, limits) {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    throw new HttpRefusal(400, 'A record must be an object such as {"deviceId": "pump-1", "payload": 21.5}.');
  }
  const {
    deviceId,
    topic,
    payload,
    class: cls,
    ts,
    traceparent,
    tracestate
  } = /** @type {Record<string, unknown>} */ (item);
  if (payload === undefined) throw new HttpRefusal(400, 'The record has no "payload".');
  const device = toDevice(deviceId ?? route.device);
  if (route.device !== '' && device !== route.device) {
    throw new HttpRefusal(400, 'The record names a different device than the path.');
  }
  const own = route.topic || `${route.path}/${device}`;
  return recordOf(
    {
      deviceId: device,
      topic: toTopic(topic ?? own),
      cls: toClassOrRefuse(cls) || route.cls,
      ts: toTime(ts) || route.ts,
      payload: Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
      trace: traceOf(traceparent, tracestate)
    },
    limits
  );
}

/**
 * @param {{ deviceId: string, topic: string, payload: Buffer, cls: number, ts: number, trace?: string }} fields
 * @param {Limits} limits
 * @returns {import('../../base/record').RecordArgs}
 */
function recordOf(fields, limits) {
  if (!limits.allows(fields.deviceId)) throw new HttpRefusal(403, 'The token is not for this device.');
  if (!limits.mayPublish(fields.deviceId, fields.topic)) {
    throw new HttpRefusal(403, 'The device may not publish to this topic: see the permissions of the node.');
  }
  if (fields.payload.length > limits.maxPayloadBytes) {
    throw new HttpRefusal(413, `The payload of a record may have at most ${limits.maxPayloadBytes} bytes.`);
  }
  const deviceId = limits.tenant ? tenantId(limits.tenant, fields.deviceId) : fields.deviceId;
  if (!deviceId) throw new HttpRefusal(400, 'The device id is too long for its tenant.');
  return {
    ...fields,
    deviceId,
    cls: fields.cls || limits.class || NORMAL,
    flags: FLAG.QOS1,
    seq: -1,
    trace: fields.trace || limits.trace
  };
}

/** @param {Buffer} body */
function decode(body) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new HttpRefusal(400, 'The body is not valid UTF-8.');
  }
}

/** @param {string} text @returns {unknown} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the input.
    throw new HttpRefusal(400, 'This is not valid JSON.');
  }
}

module.exports = { kindOf, readDocument, MAX_RECORDS };
