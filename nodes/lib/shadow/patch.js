'use strict';
// Reads what a device, a cloud or a flow asks of a shadow.

const { SECTIONS } = require('./document');
const { checkShape, isPlain, parse } = require('./json');
const { Refusal } = require('./refusal');

const MAX_TOKEN_BYTES = 64;
/** They are versions and metadata of a section in Azure's dialect. */
const RESERVED = ['$version', '$metadata'];

/**
 * @typedef {object} Request
 * @property {{ [section in import('./document').Section]?: import('./json').JsonObject | null }} patch
 * @property {number | null} version that the document must have; null = any
 * @property {string | undefined} clientToken
 */

/**
 * Reads an update: {"desired":{…},"reported":{…}}, both optional, or that as `state`, and `version` and `clientToken`.
 * @param {string} text
 * @param {'reported' | null} section whose patch the text is as a whole; null = the text names sections
 * @param {number} maxDepth
 * @returns {Request}
 * @throws {Refusal} also with the property clientToken, if it could be read
 */
function readUpdate(text, section, maxDepth) {
  const given = parse(text);
  if (!isPlain(given)) throw new Refusal(400, 'The document must be a JSON object.');
  if (section) {
    checkSection(section, given, maxDepth);
    return { patch: { [section]: given }, version: null, clientToken: undefined };
  }
  const clientToken = tokenOf(given);
  try {
    const { state, version = null } = given;
    if (version !== null && !(Number.isSafeInteger(version) && version >= 0))
      throw new Refusal(400, 'version must be a whole number.');
    return {
      patch: patchOf(state === undefined ? given : state, state !== undefined, maxDepth),
      version,
      clientToken
    };
  } catch (error) {
    throw Object.assign(/** @type {Error} */ (error), { clientToken });
  }
}

/** @param {any} state @param {boolean} isAlone no version and token beside the sections @param {number} maxDepth */
function patchOf(state, isAlone, maxDepth) {
  if (!isPlain(state)) throw new Refusal(400, 'state must be an object with desired, reported, or both.');
  const known = isAlone ? SECTIONS : [...SECTIONS, 'version', 'clientToken'];
  const strange = Object.keys(state).find((key) => !(/** @type {readonly string[]} */ (known).includes(key)));
  if (strange !== undefined)
    throw new Refusal(400, `A state has desired and reported, not ${JSON.stringify(strange.slice(0, 40))}.`);
  /** @type {Request['patch']} */
  const patch = {};
  for (const section of SECTIONS) {
    if (state[section] === undefined) continue;
    checkSection(section, state[section], maxDepth);
    patch[section] = state[section];
  }
  if (Object.keys(patch).length === 0) throw new Refusal(400, 'The update has neither desired nor reported.');
  return patch;
}

/** @param {string} name @param {any} value @param {number} maxDepth */
function checkSection(name, value, maxDepth) {
  if (value === null) return;
  if (!isPlain(value)) throw new Refusal(400, `${name} must be an object, or null to remove it.`);
  const reserved = RESERVED.find((key) => key in value);
  if (reserved) throw new Refusal(400, `${reserved} is written by the gateway. Leave it out of ${name}.`);
  checkShape(value, maxDepth, maxDepth);
}

/**
 * @param {string} text of a request without a document
 * @returns {string | undefined} its client token
 * @throws {Refusal}
 */
function readToken(text) {
  if (text.trim() === '') return undefined;
  const given = parse(text);
  return isPlain(given) ? tokenOf(given) : undefined;
}

/** @param {import('./json').JsonObject} given @returns {string | undefined} */
function tokenOf({ clientToken }) {
  if (clientToken === undefined) return undefined;
  if (typeof clientToken === 'string' && Buffer.byteLength(clientToken) <= MAX_TOKEN_BYTES)
    return clientToken;
  throw new Refusal(400, `clientToken must be text of at most ${MAX_TOKEN_BYTES} bytes.`);
}

module.exports = { readToken, readUpdate };
