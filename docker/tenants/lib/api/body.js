'use strict';
// Reads a request's body: JSON of limited size.

const { TenantError } = require('../base/errors');

const MAX_BODY_BYTES = 16 << 10;

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<Record<string, unknown>>} {} if there is none
 * @throws {TenantError} invalid
 */
async function readBody(request) {
  let size = 0;
  /** @type {Buffer[]} */
  const parts = [];
  for await (const part of request) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new TenantError('invalid', `The body exceeds ${MAX_BODY_BYTES} bytes.`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString();
  if (text.trim() === '') return {};
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TenantError('invalid', 'The body is no JSON.');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new TenantError('invalid', 'The body must be a JSON object.');
}

/** @param {Record<string, unknown>} body @param {string[]} known */
function refuseUnknown(body, known) {
  const key = Object.keys(body).find((each) => !known.includes(each));
  if (key !== undefined)
    throw new TenantError('invalid', `The body has the unknown key '${key.slice(0, 64)}'.`);
}

/**
 * @param {Record<string, unknown>} body
 * @param {string} key
 * @param {number} most characters
 * @returns {string} '' if it is missing
 */
function textOf(body, key, most) {
  const value = body[key] ?? '';
  if (typeof value === 'string' && value.length <= most) return value;
  throw new TenantError('invalid', `${key} must be a text of at most ${most} characters.`);
}

/** @param {Record<string, unknown>} body @param {string} key @returns {boolean} */
function flagOf(body, key) {
  const value = body[key] ?? false;
  if (typeof value === 'boolean') return value;
  throw new TenantError('invalid', `${key} must be true or false.`);
}

module.exports = { readBody, refuseUnknown, textOf, flagOf, MAX_BODY_BYTES };
