'use strict';
// The document of a device: what is desired, what it reports, and the difference. Pure; nothing is changed in place.
//
// A patch is merged as AWS IoT and Azure IoT Hub do it (and RFC 7396): null removes a key, an object is merged into an
// object, anything else replaces what was there, arrays as a whole. An object that is empty afterwards is not kept.

const { isEqual, isPlain } = require('./json');

/**
 * @typedef {import('./json').JsonObject} JsonObject
 * @typedef {'desired' | 'reported'} Section
 *
 * Seconds since 1970 at which values were set, in the shape of the state; one for all values of an array, or for all of
 * an object that were set at the same time.
 * @typedef {number | { [key: string]: any }} Stamps
 *
 * @typedef {object} Part a section
 * @property {JsonObject} state
 * @property {Stamps} stamps
 * @property {number} version changes of the section, from 1
 *
 * @typedef {object} Shadow
 * @property {number} version changes of the document, from 1
 * @property {number} changedAt ms since 1970
 * @property {Part} desired
 * @property {Part} reported
 */

/** @type {readonly Section[]} */
const SECTIONS = ['desired', 'reported'];
/** @type {JsonObject} */
const NOTHING = Object.freeze(Object.create(null));

/** @param {number} version of the document that was deleted before; 0 = none was @returns {Shadow} */
function emptyShadow(version) {
  const part = { state: NOTHING, stamps: NOTHING, version: 0 };
  return { version, changedAt: 0, desired: part, reported: part };
}

/**
 * @param {Shadow} shadow
 * @param {{ [section in Section]?: JsonObject | null }} patch null = the section becomes empty
 * @param {number} nowMs
 * @returns {Shadow} the same one if nothing changes
 */
function update(shadow, patch, nowMs) {
  const after = { ...shadow };
  for (const section of SECTIONS) {
    const given = patch[section];
    if (given === undefined) continue;
    const before = shadow[section];
    const { state, stamps } =
      given === null
        ? { state: NOTHING, stamps: NOTHING }
        : merge(before.state, before.stamps, given, Math.floor(nowMs / 1000));
    const isSame = given === null ? Object.keys(before.state).length === 0 : state === before.state;
    if (!isSame) after[section] = { state, stamps, version: before.version + 1 };
  }
  const isNew = shadow.changedAt === 0;
  if (!isNew && SECTIONS.every((section) => after[section] === shadow[section])) return shadow;
  return { ...after, version: shadow.version + 1, changedAt: nowMs };
}

/**
 * @param {JsonObject} before
 * @param {Stamps} stampsBefore
 * @param {JsonObject} patch
 * @param {number} nowS
 * @returns {{ state: JsonObject, stamps: Stamps }} state: the very one before if nothing changes
 */
function merge(before, stampsBefore, patch, nowS) {
  const state = Object.assign(Object.create(null), before);
  const stamps = Object.assign(Object.create(null), isPlain(stampsBefore) ? stampsBefore : {});
  if (typeof stampsBefore === 'number') for (const key of Object.keys(before)) stamps[key] = stampsBefore;
  let isChanged = false;
  for (const key of Object.keys(patch)) {
    const [value, old] = [patch[key], before[key]];
    let [next, stamp] = [value, /** @type {any} */ (nowS)];
    if (isPlain(value)) {
      const inner = isPlain(old)
        ? merge(old, stamps[key], value, nowS)
        : merge(NOTHING, NOTHING, value, nowS);
      next = Object.keys(inner.state).length > 0 ? inner.state : null;
      stamp = inner.stamps;
    }
    if (next === null ? old === undefined : old !== undefined && (next === old || isEqual(next, old)))
      continue;
    isChanged = true;
    if (next === null) {
      delete state[key];
      delete stamps[key];
    } else {
      state[key] = next;
      stamps[key] = stamp;
    }
  }
  return isChanged ? { state, stamps } : { state: before, stamps: stampsBefore };
}

/**
 * Returns what is desired and not reported so: the attributes of `desired` that differ, at any level.
 * @param {JsonObject} desired
 * @param {JsonObject} reported
 * @returns {JsonObject} empty if there is no difference
 */
function deltaOf(desired, reported) {
  const delta = Object.create(null);
  for (const key of Object.keys(desired)) {
    const [wanted, actual] = [desired[key], reported[key]];
    if (isPlain(wanted) && isPlain(actual)) {
      const inner = deltaOf(wanted, actual);
      if (Object.keys(inner).length > 0) delta[key] = inner;
    } else if (!isEqual(wanted, actual)) delta[key] = wanted;
  }
  return delta;
}

/**
 * Returns the same stamps with one for all values of an object that have the same.
 * @param {Stamps} stamps
 * @returns {Stamps}
 */
function compact(stamps) {
  if (typeof stamps === 'number') return stamps;
  const inner = Object.assign(Object.create(null), stamps);
  for (const key of Object.keys(inner)) inner[key] = compact(inner[key]);
  const [first, ...others] = Object.values(inner);
  return typeof first === 'number' && others.every((each) => each === first) ? first : inner;
}

/**
 * Returns the metadata of values as AWS writes them: {"timestamp": s} in the place of each value.
 * @param {any} value
 * @param {any} stamps of the value, or of more than it
 * @returns {any}
 */
function metadataOf(value, stamps) {
  if (Array.isArray(value)) return value.map((each) => metadataOf(each, stamps));
  if (!isPlain(value)) return { timestamp: stamps };
  const metadata = Object.create(null);
  for (const key of Object.keys(value)) {
    // A removed key of a patch has no stamp.
    if (isPlain(stamps) && stamps[key] === undefined) continue;
    metadata[key] = metadataOf(value[key], isPlain(stamps) ? stamps[key] : stamps);
  }
  return metadata;
}

module.exports = { SECTIONS, compact, deltaOf, emptyShadow, metadataOf, update };
