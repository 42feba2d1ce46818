'use strict';
// Resources of the devices of a cloud for other capabilities, which speak JSON.

const { cborOf } = require('../http/json-cbor');
const { ConversionError, jsonOf, readJson } = require('../http/cbor-json');
const { FORMAT, OPTION, uintOption } = require('../cloud/coap');
const { hrefProblem } = require('../cloud/href');
const { dotted } = require('../../sources/coap-desk/codes');

const TIMEOUT_MS = 10000;
const EMPTY = Buffer.alloc(0);
/** Codes 5.xx. */
const SERVER_ERROR = 5;

/**
 * @typedef {import('../node/clouds').Cloud} Cloud
 * @typedef {import('../cloud/coap').DeviceAnswer} DeviceAnswer
 *
 * The answer of a device. json: its representation as the text of an object, '' = it has none; isBrief: the next
 * request may succeed
 * @typedef {{ isOk: boolean, isBrief: boolean, code: string, json: string }} Answer
 */

/**
 * Sends an UPDATE (POST), which may be sent again.
 * @param {Cloud} cloud
 * @param {string} di
 * @param {string} href
 * @param {string} json an object
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 * @throws {RangeError} with a sentence, if it cannot be sent
 * @throws {import('../cloud/own-requests').RequestFailure} the device has not answered
 */
async function updateResource(cloud, di, href, json, signal) {
  const payload = bodyOf(href, json);
  return readAnswer(await cloud.ownRequests.send(questionOf('POST', di, href, payload), signal));
}

/**
 * Reads a representation, as updateResource().
 * @param {Cloud} cloud
 * @param {string} di
 * @param {string} href
 * @param {AbortSignal} signal
 */
async function readResource(cloud, di, href, signal) {
  return readAnswer(await cloud.ownRequests.send(questionOf('GET', di, href, EMPTY), signal));
}

/**
 * Observes a resource, also while its device comes and goes.
 * @param {Cloud} cloud
 * @param {string} di that has signed up
 * @param {string} href for which isHref() is true
 * @param {(json: string) => void} changed gets each representation
 * @returns {import('../cloud/own-observations').OwnObservation} state 'ended': it does not go on
 */
function observeResource(cloud, di, href, changed) {
  return cloud.ownObservations.start(questionOf('GET', di, href, EMPTY), {
    answered: (answer) => {
      const { isOk, json } = readAnswer(answer);
      if (isOk && json) changed(json);
    },
    failed: () => 'end'
  });
}

/** @param {string} href */
const isHref = (href) => hrefProblem(href) === '';

/** @param {string} method @param {string} di @param {string} href @param {Buffer} payload */
const questionOf = (method, di, href, payload) => ({
  di,
  method,
  path: href.slice(1).split('/'),
  query: [],
  payload,
  timeoutMs: TIMEOUT_MS
});

/** @param {string} href @param {string} json @returns {Buffer} CBOR @throws {RangeError} */
function bodyOf(href, json) {
  const problem = hrefProblem(href);
  if (problem) throw new RangeError(`The href ${problem}.`);
  if (!json.startsWith('{')) throw new RangeError('What is desired of a resource must be an object.');
  try {
    return cborOf(readJson(Buffer.from(json)));
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw new RangeError(`What is desired ${error.message}.`, { cause: error });
  }
}

/** @param {DeviceAnswer} answer @returns {Answer} */
function readAnswer(answer) {
  const kind = answer.code >> 5;
  const found = { isOk: kind === 2, isBrief: kind === SERVER_ERROR, code: dotted(answer.code) };
  const format = uintOption(answer, OPTION.CONTENT_FORMAT) ?? FORMAT.OCF;
  const isCbor = format === FORMAT.CBOR || format === FORMAT.OCF;
  if (kind !== 2 || !isCbor || answer.payload.length === 0) return { ...found, json: '' };
  try {
    const json = jsonOf(answer.payload);
    return { ...found, json: json.startsWith('{') ? json : '' };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    return { ...found, json: '' };
  }
}

module.exports = { isHref, observeResource, readResource, updateResource };
