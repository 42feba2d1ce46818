'use strict';
// Parses the target of a request: /{path}, /{path}/{device} or /{path}/{device}/{topic…}?c=class&t=topic&ts=ms&batch=1

const { HttpRefusal } = require('./http-refusal');
const { toClassOrRefuse, toDevice, toTime, toTopic } = require('./record-fields');

/**
 * @typedef {object} Route
 * @property {string} device '' = none
 * @property {string} path of the node
 * @property {string} topic of the record: from the query, or the path as sent; '' = depends on the device
 * @property {number} cls 0 = not given
 * @property {number} ts 0 = now
 * @property {boolean} batch the body is a list of records
 */

/**
 * @param {string} target of the request line
 * @param {string} path of the node, without slashes around it
 * @returns {Route}
 * @throws {HttpRefusal}
 */
function parseTarget(target, path) {
  const [pathname, query = ''] = split(target, '?');
  if (!pathname.startsWith('/')) throw new HttpRefusal(400, 'The request target is not a path.');
  const parts = pathname.slice(1).split('/').map(decode);
  const base = path.split('/');
  if (base.some((part, index) => parts[index] !== part)) throw new HttpRefusal(404, 'Not found.');
  const [device = '', ...rest] = parts.slice(base.length);
  if (device === '' && rest.length > 0) throw new HttpRefusal(404, 'The path names no device.');
  const given = new URLSearchParams(query);
  const asSent = device === '' ? '' : [...base, device, ...rest].join('/');
  return {
    device: device === '' ? '' : toDevice(device),
    path,
    topic: toTopic(given.get('t') ?? asSent),
    cls: toClassOrRefuse(given.get('c') ?? ''),
    ts: toTime(given.has('ts') ? Number(given.get('ts')) : undefined),
    batch: given.get('batch') === '1'
  };
}

/** @param {string} text @param {string} mark */
function split(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpRefusal(400, 'The path is invalid: a % is not followed by valid UTF-8.');
  }
}

module.exports = { parseTarget };
