'use strict';
// Entity tags: those of CoAP are bytes, those of HTTP name one representation of them (RFC 9110 section 8.8.3).

const { HttpRefusal } = require('../../sources/http/http-refusal');
const { OPTION } = require('../cloud/coap');

/** @typedef {import('../cloud/coap').Option} Option */

const MOST_TAGS = 8;
const TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
const OWN = /^((?:[0-9a-f]{2}){1,8})(-json)?$/;

/** @param {Buffer} etag @param {boolean} isJson the answer was converted @returns {string} */
function entityTag(etag, isJson) {
  return `"${etag.toString('hex')}${isJson ? '-json' : ''}"`;
}

/**
 * Returns the CoAP options for the conditions of a request. Tags that no answer of ours had match nothing.
 * @param {string} method
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @returns {Option[]}
 * @throws {HttpRefusal} 400, or 412 if a condition cannot be met
 */
function conditionsOf(method, headers) {
  const isReading = method === 'GET' || method === 'HEAD';
  /** @type {Option[]} */
  const options = [];
  const none = headers['if-none-match'];
  if (none !== undefined) {
    if (isReading) for (const tag of tagsOf(none, true)) options.push([OPTION.ETAG, tag]);
    else if (none.trim() === '*') options.push([OPTION.IF_NONE_MATCH, Buffer.alloc(0)]);
    else throw new HttpRefusal(400, 'If-None-Match of a request that changes something must be *.');
  }
  const match = headers['if-match'];
  if (match === undefined) return options;
  if (isReading) throw new HttpRefusal(400, 'If-Match is only for requests that change something.');
  if (match.trim() === '*') return [...options, [OPTION.IF_MATCH, Buffer.alloc(0)]];
  const tags = tagsOf(match, false);
  if (tags.length === 0) throw new HttpRefusal(412, 'No version of the resource has this entity tag.');
  return [...options, ...tags.map((tag) => /** @type {Option} */ ([OPTION.IF_MATCH, tag]))];
}

/**
 * @param {string} list of a header
 * @param {boolean} isWeak weak tags count, too (RFC 9110 section 8.8.3.2)
 * @returns {Buffer[]}
 */
function tagsOf(list, isWeak) {
  if (list.trim() === '*') return [];
  const texts = list.split(',').filter((each) => each.trim() !== '');
  const found = texts.map((each) => TAG.exec(each.trim()));
  if (found.includes(null)) throw new HttpRefusal(400, 'An entity tag is malformed.');
  const own = found.flatMap((match) => {
    const hex = OWN.exec(match?.[2] ?? '')?.[1];
    return hex && (isWeak || !match?.[1]) ? [hex] : [];
  });
  return [...new Set(own)].slice(0, MOST_TAGS).map((hex) => Buffer.from(hex, 'hex'));
}

module.exports = { conditionsOf, entityTag };
