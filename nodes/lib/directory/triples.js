'use strict';
// Thing Descriptions as RDF (N-Triples), for SPARQL. It knows the terms of Thing Description 1.1 and the prefixes of
// the description's own @context. A remote context is never fetched; names that are neither get the namespace td. Pure.

const { isObject } = require('./merge-patch');
const { PREFIXES } = require('./terms');

const RDF_TYPE = `${PREFIXES.rdf}type`;
/** Members whose name in RDF differs from td:NAME. A thing may have members such as constructor. */
const NAMES = new Map(
  Object.entries({
    properties: `${PREFIXES.td}hasPropertyAffordance`,
    actions: `${PREFIXES.td}hasActionAffordance`,
    events: `${PREFIXES.td}hasEventAffordance`,
    forms: `${PREFIXES.td}hasForm`,
    links: `${PREFIXES.td}hasLink`,
    security: `${PREFIXES.td}hasSecurityConfiguration`,
    securityDefinitions: `${PREFIXES.td}definesSecurityScheme`,
    observable: `${PREFIXES.td}isObservable`,
    base: `${PREFIXES.td}baseURI`,
    created: `${PREFIXES.td}created`,
    href: `${PREFIXES.hctl}hasTarget`,
    contentType: `${PREFIXES.hctl}forContentType`,
    op: `${PREFIXES.hctl}hasOperationType`,
    rel: `${PREFIXES.hctl}hasRelationType`,
    type: `${PREFIXES.jsonschema}type`,
    unit: `${PREFIXES.schema}unitCode`,
    minimum: `${PREFIXES.jsonschema}minimum`,
    maximum: `${PREFIXES.jsonschema}maximum`,
    enum: `${PREFIXES.jsonschema}enum`,
    readOnly: `${PREFIXES.jsonschema}readOnly`,
    writeOnly: `${PREFIXES.jsonschema}writeOnly`
  })
);
/** Members that are maps of named objects. */
const MAPS = new Set(['properties', 'actions', 'events', 'securityDefinitions']);
const REFERENCES = new Set(['href', 'base']);
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`\p{Cc}]*$/u;
const MAX_TRIPLES = 5000;
/** Of all triples of a thing. */
const MAX_CHARS = 1 << 20;

/**
 * @param {string} id of the thing
 * @param {Record<string, any>} td
 * @param {string} label unique to the thing, for its blank nodes: letters and digits
 * @returns {string} N-Triples
 */
function triplesOf(id, td, label) {
  return new Writer(prefixesOf(td['@context']), label).write(id, td);
}

class Writer {
  #prefixes;
  #label;
  #chars = 0;
  #blanks = 0;
  /** @type {string[]} */
  #lines = [];

  /** @param {Map<string, string>} prefixes @param {string} label */
  constructor(prefixes, label) {
    this.#prefixes = prefixes;
    this.#label = label;
  }

  /** @param {string} id @param {Record<string, any>} td */
  write(id, td) {
    const subject = `<${id}>`;
    this.#add(subject, RDF_TYPE, `<${PREFIXES.td}Thing>`);
    this.#members(subject, td);
    return this.#lines.join('');
  }

  /** @param {string} subject @param {Record<string, any>} value */
  #members(subject, value) {
    for (const [name, member] of Object.entries(value)) {
      if (name === '@context' || name === 'id' || name === '@id') continue;
      const predicate = name === '@type' ? RDF_TYPE : (NAMES.get(name) ?? this.#iri(name, PREFIXES.td));
      if (predicate === null) continue;
      if (MAPS.has(name) && isObject(member)) {
        for (const [key, each] of Object.entries(member)) {
          const node = this.#object(subject, predicate, each, name);
          if (node) this.#add(node, `${PREFIXES.td}name`, literal(key));
        }
      } else for (const each of [member].flat()) this.#object(subject, predicate, each, name);
    }
  }

  /**
   * @param {string} subject
   * @param {string} predicate
   * @param {unknown} value
   * @param {string} name of the member
   * @returns {string} the node of an object, '' = it is a literal
   */
  #object(subject, predicate, value, name) {
    if (isObject(value)) {
      if ('@value' in value) {
        this.#add(subject, predicate, literal(value['@value']));
        return '';
      }
      const given = value['@id'] ?? value.id;
      const iri = typeof given === 'string' ? this.#iri(given, '') : null;
      const node = iri ? `<${iri}>` : `_:${this.#label}b${this.#blanks++}`;
      this.#add(subject, predicate, node);
      this.#members(node, value);
      return node;
    }
    const isName = name === '@type' || name === 'security';
    const isReference = isName || REFERENCES.has(name);
    const iri = isReference ? this.#iri(String(value), isName ? PREFIXES.td : '') : null;
    this.#add(subject, predicate, iri ? `<${iri}>` : literal(value));
    return '';
  }

  /** @param {string} subject @param {string} predicate @param {string} object '' = none */
  #add(subject, predicate, object) {
    if (object === '' || this.#lines.length >= MAX_TRIPLES) return;
    const line = `${subject} <${predicate}> ${object} .\n`;
    // A prefix of a thing of 64 KiB can be in thousands of lines.
    this.#chars += line.length;
    if (this.#chars <= MAX_CHARS) this.#lines.push(line);
  }

  /**
   * @param {string} name
   * @param {string} vocabulary of names without a prefix
   * @returns {string | null} null = no IRI
   */
  #iri(name, vocabulary) {
    const colon = name.indexOf(':');
    const base = colon > 0 ? this.#prefixes.get(name.slice(0, colon)) : undefined;
    const iri = base !== undefined ? base + name.slice(colon + 1) : colon > 0 ? name : vocabulary + name;
    return ABSOLUTE.test(iri) ? iri : null;
  }
}

/** @param {unknown} context @returns {Map<string, string>} */
function prefixesOf(context) {
  const prefixes = new Map(Object.entries(PREFIXES));
  for (const entry of [context].flat()) {
    if (!isObject(entry)) continue;
    for (const [name, iri] of Object.entries(entry))
      if (typeof iri === 'string' && !name.startsWith('@') && /[#/:_]$/.test(iri)) prefixes.set(name, iri);
  }
  return prefixes;
}

/** @param {unknown} value @returns {string} '' for what has no literal */
function literal(value) {
  if (typeof value === 'boolean') return `"${value}"^^<${PREFIXES.xsd}boolean>`;
  if (typeof value === 'number') {
    const type = Number.isInteger(value) && Math.abs(value) < 1e15 ? 'integer' : 'double';
    return `"${value}"^^<${PREFIXES.xsd}${type}>`;
  }
  if (typeof value !== 'string') return '';
  // A lone surrogate has no UTF-8.
  const escaped = Buffer.from(value)
    .toString()
    .replace(/[\\"\n\r\p{Cc}]/gu, (letter) => {
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    });
  return `"${escaped}"`;
}

module.exports = { triplesOf };
