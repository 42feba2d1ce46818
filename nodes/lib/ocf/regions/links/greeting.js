'use strict';
// The greeting: the first request of a link. Each side says which region of which cloud it is.

const { OPTION } = require('../../cloud/coap');
const { parseAddress } = require('./address');

const PATH = ['oic', 'region'];
const POST = 2;
const MOST_BYTES = 1024;
const MOST_CHARACTERS = 200;
/** Codes of its answers. */
const CODE = { CHANGED: 0x44, BAD_REQUEST: 0x80, FORBIDDEN: 0x83, UNAVAILABLE: 0xa3 };

/**
 * @typedef {object} Greeting
 * @property {string} ci address of the region
 * @property {string} sid id of the cloud
 */
/** @typedef {{ code: number, answer: Record<string, any> }} Reply answer: JSON */

/** Returns the request of a greeting. @param {Greeting} own */
function greeting({ ci, sid }) {
  const payload = Buffer.from(JSON.stringify({ ci, sid }));
  return { code: POST, path: PATH, options: [], payload, observe: false };
}

/**
 * @param {import('./link-messages').Message} message
 * @returns {Greeting | null} null: it is no greeting
 */
function readGreeting({ code, options, payload }) {
  const path = options.filter(([number]) => number === OPTION.URI_PATH).map(([, value]) => value.toString());
  if (code !== POST || path.join('/') !== PATH.join('/') || payload.length > MOST_BYTES) return null;
  try {
    const { ci, sid } = JSON.parse(payload.toString());
    return typeof ci === 'string' && typeof sid === 'string' && parseAddress(ci) ? { ci, sid } : null;
  } catch {
    return null;
  }
}

/** @param {number} code @param {string} error a sentence @returns {Reply} */
const refusal = (code, error) => ({ code, answer: { error } });

/** Returns the sentence of a refusal. @param {Buffer} payload */
function reasonIn(payload) {
  try {
    return String(JSON.parse(payload.toString()).error).slice(0, MOST_CHARACTERS);
  } catch {
    return 'it refuses the link.';
  }
}

module.exports = { CODE, greeting, readGreeting, refusal, reasonIn };
