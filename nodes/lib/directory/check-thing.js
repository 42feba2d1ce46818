'use strict';
// Checks a Thing Description before it is stored: the mandatory members and the types of WoT Thing Description 1.1,
// section 5.3, and the limits of the directory. Pure.

const { DirectoryError } = require('./directory-error');
const { isObject } = require('./merge-patch');
const { TD_CONTEXT } = require('./terms');

const TD_1_0 = 'https://www.w3.org/2019/wot/td/v1';
const LIMITS = { bytes: 65536, depth: 24, affordances: 256, forms: 32, idLength: 512, problems: 20 };
/** A URI with a scheme, without spaces and characters that RFC 3986 does not know. */
const ID = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`\p{Cc}]+$/u;
const SCHEMES = ['nosec', 'auto', 'combo', 'basic', 'digest', 'apikey', 'bearer', 'psk', 'oauth2'];
const TYPES = ['boolean', 'integer', 'number', 'string', 'object', 'array', 'null'];
const AFFORDANCES = /** @type {const} */ (['properties', 'actions', 'events']);
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;
const MAX_TTL_S = 100 * 366 * 86400;

/** @typedef {{ field: string, description: string }} Problem field: a path such as properties.status.forms */

/**
 * @param {unknown} id
 * @returns {string} what is wrong, '' = nothing
 */
function idProblem(id) {
  if (typeof id !== 'string' || id.length > LIMITS.idLength || !ID.test(id))
    return `must be a URI of at most ${LIMITS.idLength} characters, such as urn:uuid:…`;
  return '';
}

/**
 * @param {unknown} td without id, or with one
 * @returns {Problem[]} empty = it can be stored
 */
function problemsOf(td) {
  /** @type {Problem[]} */
  const problems = [];
  const add = (/** @type {string} */ field, /** @type {string} */ description) => {
    if (problems.length < LIMITS.problems) problems.push({ field, description });
  };
  if (!isObject(td)) {
    add('(root)', 'must be a JSON object');
    return problems;
  }
  if (depthOf(td) > LIMITS.depth) add('(root)', `must be nested at most ${LIMITS.depth} levels deep`);
  else if (Buffer.byteLength(JSON.stringify(td)) > LIMITS.bytes)
    add('(root)', `must have at most ${LIMITS.bytes} bytes`);
  if (problems.length > 0) return problems;
  checkContext(td['@context'], add);
  if (td.id !== undefined && idProblem(td.id)) add('id', idProblem(td.id));
  if (typeof td.title !== 'string' || td.title === '') add('title', 'is mandatory, and must be text');
  for (const name of ['description', 'support', 'base', 'created', 'modified', 'version']) {
    const value = td[name];
    if (value !== undefined && typeof value !== 'string' && !(name === 'version' && isObject(value)))
      add(name, 'must be text');
  }
  checkSecurity(td, add);
  for (const kind of AFFORDANCES) checkAffordances(td[kind], kind, add);
  if (td.forms !== undefined) checkForms(td.forms, 'forms', add);
  checkLinks(td.links, add);
  checkRegistration(td.registration, add);
  return problems;
}

/** @typedef {(field: string, description: string) => void} Add */

/** @param {unknown} context @param {Add} add */
function checkContext(context, add) {
  const entries = Array.isArray(context) ? context : [context];
  if (context === undefined) add('@context', 'is mandatory');
  else if (!entries.every((entry) => typeof entry === 'string' || isObject(entry)))
    add('@context', 'must be a URI, or a list of URIs and objects');
  else if (!entries.some((entry) => entry === TD_CONTEXT || entry === TD_1_0))
    add('@context', `must contain ${TD_CONTEXT}`);
}

/** @param {Record<string, any>} td @param {Add} add */
function checkSecurity({ security, securityDefinitions: definitions }, add) {
  if (!isObject(definitions) || Object.keys(definitions).length === 0)
    add('securityDefinitions', 'is mandatory, and must be an object with at least one definition');
  else
    for (const [name, definition] of Object.entries(definitions)) {
      const scheme = isObject(definition) ? definition.scheme : undefined;
      // A prefix names a scheme of another vocabulary.
      if (typeof scheme !== 'string' || !(SCHEMES.includes(scheme) || scheme.includes(':')))
        add(`securityDefinitions.${name}.scheme`, `must be one of ${SCHEMES.join(', ')}`);
    }
  const names = Array.isArray(security) ? security : [security];
  if (security === undefined || names.length === 0) add('security', 'is mandatory');
  else
    for (const name of names)
      if (typeof name !== 'string' || (isObject(definitions) && !Object.hasOwn(definitions, name)))
        add('security', 'must name entries of securityDefinitions');
}

/** @param {unknown} group @param {string} kind @param {Add} add */
function checkAffordances(group, kind, add) {
  if (group === undefined) return;
  if (!isObject(group)) return add(kind, 'must be an object');
  const entries = Object.entries(group);
  if (entries.length > LIMITS.affordances) add(kind, `must have at most ${LIMITS.affordances} entries`);
  for (const [name, affordance] of entries.slice(0, LIMITS.affordances)) {
    const field = `${kind}.${name}`;
    if (!isObject(affordance)) add(field, 'must be an object');
    else {
      checkForms(affordance.forms, `${field}.forms`, add);
      const { type } = affordance;
      if (kind === 'properties' && type !== undefined && !TYPES.includes(/** @type {string} */ (type)))
        add(`${field}.type`, `must be one of ${TYPES.join(', ')}`);
    }
  }
}

/** @param {unknown} forms @param {string} field @param {Add} add */
function checkForms(forms, field, add) {
  if (!Array.isArray(forms) || forms.length === 0 || forms.length > LIMITS.forms)
    return add(field, `is mandatory, and must be a list of 1 to ${LIMITS.forms} forms`);
  for (const [index, form] of forms.entries())
    if (!isObject(form) || typeof form.href !== 'string' || form.href === '')
      add(`${field}[${index}].href`, 'is mandatory, and must be a URI');
}

/** @param {unknown} links @param {Add} add */
function checkLinks(links, add) {
  if (links === undefined) return;
  if (!Array.isArray(links)) return add('links', 'must be a list');
  for (const [index, link] of links.entries())
    if (!isObject(link) || typeof link.href !== 'string' || link.href === '')
      add(`links[${index}].href`, 'is mandatory, and must be a URI');
}

/** @param {unknown} registration @param {Add} add */
function checkRegistration(registration, add) {
  if (registration === undefined) return;
  if (!isObject(registration)) return add('registration', 'must be an object');
  const { ttl, expires } = registration;
  if (ttl !== undefined && !(typeof ttl === 'number' && ttl > 0 && ttl <= MAX_TTL_S))
    add('registration.ttl', `must be a number of seconds from 0 to ${MAX_TTL_S}`);
  const isTime = typeof expires === 'string' && DATE.test(expires) && !Number.isNaN(Date.parse(expires));
  if (expires !== undefined && !isTime) add('registration.expires', 'must be a date and time of RFC 3339');
}

/** @param {unknown} value @returns {number} one more than the limit for anything deeper */
function depthOf(value, left = LIMITS.depth + 1) {
  if (typeof value !== 'object' || value === null || left === 0) return 0;
  let deepest = 0;
  for (const each of Object.values(value)) deepest = Math.max(deepest, depthOf(each, left - 1));
  return deepest + 1;
}

/** @param {any} td @returns {Record<string, any>} @throws {DirectoryError} */
function check(td) {
  const validationErrors = problemsOf(td);
  if (validationErrors.length > 0) {
    const [{ field, description }] = validationErrors;
    throw new DirectoryError(400, `The Thing Description is not valid: ${field} ${description}.`, {
      validationErrors
    });
  }
  return td;
}

module.exports = { LIMITS, check, idProblem, problemsOf };
