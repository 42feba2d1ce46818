'use strict';
// How answers leave: code, options, CBOR body.

const { answerFormat, encode, formatOptions } = require('./bodies');
const { OPTION, uint } = require('./coap');
const { Refusal } = require('./refusal');

/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./coap').Option} Option */
/**
 * @typedef {object} Answer
 * @property {string} code such as 2.04
 * @property {unknown} [body] becomes CBOR; none if it is undefined
 * @property {Buffer} [encoded] the same, encoded
 * @property {Option[]} [options] more options
 */

/** Wait before the next attempt while something that the cloud needs is unavailable, in s. */
const UNAVAILABLE_SECONDS = 30;

/**
 * @param {import('./coap').Desk} desk
 * @param {Request} request
 * @param {Answer} answer
 * @param {number} format of the body
 */
function send(desk, request, { code, body, encoded, options = [] }, format) {
  const payload = encoded ?? (body === undefined ? Buffer.alloc(0) : encode(body));
  const described = payload.length > 0 ? formatOptions(request, format) : [];
  desk.answer(request.connection, request.token, code, [...options, ...described], payload);
}

/**
 * Sends an error with its sentence as the diagnostic payload (RFC 7252 section 5.5.2).
 * @param {import('./coap').Desk} desk
 * @param {Request} request
 * @param {Refusal} refusal
 */
function refuse(desk, { connection, token }, { code, message, maxAge }) {
  /** @type {Option[]} */
  const options = maxAge === undefined ? [] : [[OPTION.MAX_AGE, uint(maxAge)]];
  desk.answer(connection, token, code, options, Buffer.from(message));
}

/**
 * Returns the refusal for an error. What is not the client's fault is 5.03: a device that gets 4.01 forgets its cloud.
 * @param {unknown} error
 * @returns {Refusal}
 */
function asRefusal(error) {
  if (error instanceof Refusal) return error;
  return new Refusal('5.03', 'The cloud cannot do this at present.', UNAVAILABLE_SECONDS);
}

/** @param {Request} request @param {string[]} methods @throws {Refusal} 4.05 */
function checkMethod({ method }, ...methods) {
  if (!methods.includes(method)) throw new Refusal('4.05', `The resource takes ${methods.join(', ')}.`);
}

module.exports = { send, refuse, asRefusal, checkMethod, answerFormat, UNAVAILABLE_SECONDS };
