'use strict';
// Thing Descriptions (WoT 1.1) of devices and resources that the gateway knows. Pure.

const { createHash } = require('node:crypto');
const { deviceTopic } = require('../commands/command');
const { OWN_CONTEXT, TD_CONTEXT, localName, measuredBy, termOf } = require('./terms');

const MAX_PROPERTIES = 32;
const MAX_ENCODED = 200;

/**
 * @typedef {object} Base of all things of one directory
 * @property {string} gateway id
 * @property {string} path of the directory's HTTP API, with a slash at its end
 * @property {boolean} isSecured true: the API needs the login of Node-RED
 *
 * @typedef {object} Resource what a thing measures
 * @property {string} name of the property
 * @property {string[]} types
 * @property {string} [unit]
 * @property {string} [url] ocf:// or coap://, where it can be read
 * @property {string} [desired] key of the device's shadow by which it can be written
 *
 * @typedef {object} Source
 * @property {string} device id of the device in the gateway
 * @property {string} [title]
 * @property {string} protocol
 * @property {string[]} [types]
 * @property {Resource[]} resources
 * @property {import('./rules').Placed | null} placed
 */

/** @param {Base} base @param {string} device */
const idOf = ({ gateway }, device) => `urn:seganet:${encoded(gateway)}:device:${encoded(device)}`;

/**
 * @param {Base} base
 * @param {Source} source
 * @returns {{ id: string, td: Record<string, any> }}
 */
function makeThing(base, { device, title = '', protocol, types = [], resources, placed }) {
  const id = idOf(base, device);
  const all = withPlaced(resources, placed).slice(0, MAX_PROPERTIES);
  const kinds = [...new Set([...(placed?.types ?? []), ...types])];
  return {
    id,
    td: {
      '@context': [TD_CONTEXT, OWN_CONTEXT],
      id,
      ...(kinds.length > 0 && { '@type': kinds }),
      title: placed?.title || title || device,
      'seganet:device': device,
      'seganet:protocol': protocol,
      ...locationOf(base, placed),
      securityDefinitions: base.isSecured
        ? { login: { scheme: 'bearer', description: 'The token of the login of Node-RED' } }
        : { none: { scheme: 'nosec' } },
      security: base.isSecured ? 'login' : 'none',
      ...(all.length > 0 && {
        properties: Object.fromEntries(
          all.map((resource) => [resource.name, affordanceOf(base, id, device, resource, placed)])
        )
      })
    }
  };
}

/**
 * Adds what a rule says to the properties that are known by their records.
 * @param {Resource[]} resources
 * @param {import('./rules').Placed | null} placed
 * @returns {Resource[]}
 */
function withPlaced(resources, placed) {
  const kind = placed?.property || placed?.types.map(measuredBy).find(Boolean) || '';
  if (!placed) return resources;
  if (kind === '') return withWritten(resources, placed);
  const type = kind.includes(':') ? kind : `saref:${localName(kind)}`;
  const term = termOf(kind);
  const known =
    resources.find(({ name }) => name === placed.value) ??
    resources.find(({ name, types }) => [name, ...types].some((each) => termOf(each) === term)) ??
    (placed.value === undefined && resources.length === 1 ? resources[0] : undefined);
  const { unit, write } = placed;
  const own = {
    ...(known ?? { name: placed.value || lowerFirst(localName(kind)), types: [] }),
    ...(unit && { unit }),
    ...(write && { desired: write })
  };
  const named = { ...own, types: [...new Set([type, ...own.types])] };
  return [named, ...resources.filter((each) => each !== known)];
}

/**
 * Marks the value that can be written, by a rule that does not say what it is.
 * @param {Resource[]} resources
 * @param {import('./rules').Placed} placed
 * @returns {Resource[]}
 */
function withWritten(resources, { write: desired, value }) {
  const name = value ?? (resources.length === 1 ? resources[0].name : undefined);
  if (!desired || name === undefined) return resources;
  const known = resources.find((each) => each.name === name);
  return [{ ...(known ?? { name, types: [] }), desired }, ...resources.filter((each) => each !== known)];
}

/** @param {Base} base @param {import('./rules').Placed | null} placed */
function locationOf({ gateway }, placed) {
  if (!placed) return {};
  const place = (/** @type {string} */ kind, /** @type {string} */ label, /** @type {string[]} */ types) => ({
    '@id': `urn:seganet:${encoded(gateway)}:${kind}:${encoded(label)}`,
    '@type': types,
    'rdfs:label': label
  });
  const { room, floor, building } = placed;
  const outer = {
    ...(floor && { 'brick:isPartOf': place('floor', floor, ['brick:Floor', 'bot:Storey']) }),
    ...(building && { 'seganet:building': place('building', building, ['brick:Building', 'bot:Building']) })
  };
  if (!room) return outer;
  return { 'brick:hasLocation': { ...place('room', room, ['brick:Room', 'bot:Space']), ...outer } };
}

/**
 * @param {Base} base
 * @param {string} id
 * @param {string} device
 * @param {Resource} resource
 * @param {import('./rules').Placed | null} placed
 */
function affordanceOf({ path }, id, device, { name, types, unit, url, desired }, placed) {
  const href = `${path}value?thing=${encodeURIComponent(id)}&property=${encodeURIComponent(name)}`;
  const ask = placed?.ask ?? null;
  const others = [url, ask?.url].filter((each) => each !== undefined);
  // What is desired reaches devices of the engine, but no resource of an OCF device.
  const written = url === undefined ? desired : undefined;
  return {
    '@type': ['sosa:ObservableProperty', ...types],
    ...(written ? { ...valueSchema(unit), 'seganet:desired': written } : { readOnly: true }),
    ...(unit && { unit }),
    ...(ask?.command && {
      'seganet:command': { topic: deviceTopic(device, ask.command), payload: ask.payload ?? '' }
    }),
    ...(ask?.url && { 'seganet:ask': ask.url }),
    forms: [
      { href, contentType: 'application/json', op: 'readproperty' },
      ...(written ? [{ href, contentType: 'application/json', op: 'writeproperty' }] : []),
      ...others.map((each) => ({ href: each, op: 'readproperty' }))
    ]
  };
}

/** What a GET answers, and a PUT takes. @param {string} [unit] */
function valueSchema(unit) {
  return {
    type: 'object',
    properties: {
      value: unit ? { unit } : {},
      time: { type: 'string', readOnly: true },
      age: { type: 'number', unit: 's', readOnly: true }
    },
    required: ['value']
  };
}

/** @param {string} text @returns {string} fit for a URN; a hash of long text, because an id has a limit */
function encoded(text) {
  const plain = encodeURIComponent(Buffer.from(text).toString()).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16)}`
  );
  if (plain.length <= MAX_ENCODED) return plain;
  return `sha256-${createHash('sha256').update(text).digest('hex')}`;
}

/** @param {string} text */
const lowerFirst = (text) => text.charAt(0).toLowerCase() + text.slice(1);

module.exports = { MAX_PROPERTIES, idOf, makeThing };
