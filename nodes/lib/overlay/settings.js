'use strict';
// Settings of an overlay network node and of an overlay peers node.

const { shown } = require('../base/values');
const { schemaOf } = require('../settings/rows');

const OFFER = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)=(tcp|udp)\/(\d{1,5})@(\S+):(\d{1,5})$/;
const MAX_OFFERS = 64;

const rows = /** @type {const} */ ({
  program: { type: 'choice', values: ['attach', 'start'], default: 'attach' },
  folder: { type: 'text', form: 'file', default: '' },
  address: {
    type: 'text',
    form: 'url',
    default: '',
    pattern: /^https:\/\/[^/@\s]+\/?$/,
    shape: 'an address such as https://overlay.example.com'
  },
  root: {
    type: 'text',
    default: '',
    pattern: /^sha256:[0-9a-f]{64}$/,
    shape: 'the fingerprint that "seganet-overlay invite" prints: sha256: and 64 hexadecimal digits'
  },
  token: { type: 'secret' },
  device: {
    type: 'text',
    default: '',
    pattern: /^[A-Za-z][A-Za-z0-9_.-]{0,14}$/,
    shape: 'the name of a network interface: up to 15 letters and digits'
  },
  offers: { type: 'text', default: '' },
  devices: { type: 'text', form: 'file', default: '' }
});

const EVENTS = /** @type {const} */ (['up', 'down', 'path', 'refused', 'other']);

const peerRows = /** @type {const} */ ({
  events: {
    type: 'text',
    default: '',
    pattern: /^(up|down|path|refused|other)([\s,]+(up|down|path|refused|other))*$/,
    shape: `a list of ${EVENTS.join(', ')}`
  },
  peer: {
    type: 'text',
    default: '',
    pattern: /^[a-z0-9][a-z0-9.-]{0,252}$/,
    shape: 'the name of a node of the overlay, such as hub'
  },
  everyS: { type: 'integer', min: 0, max: 86400, default: 0, unit: 's' }
});

/**
 * Parses the list of offered services, such as "broker=tcp/1883@127.0.0.1:1883".
 * @param {string} list separated by spaces or commas
 * @returns {string[]}
 * @throws {RangeError} with a sentence
 */
function parseOffers(list) {
  const offers = list.split(/[\s,]+/).filter(Boolean);
  if (offers.length > MAX_OFFERS) throw new RangeError(`At most ${MAX_OFFERS} services can be offered.`);
  const names = new Set();
  for (const offer of offers) {
    const [, name, , port, , target] = OFFER.exec(offer) ?? [];
    if (!name || !isPort(port) || !isPort(target)) {
      // An address of something else may contain a password.
      const given = /^[\w-]+=/.test(offer) ? offer.slice(0, 100) : shown(offer);
      throw new RangeError(
        `"${given}" offers nothing. Enter services such as broker=tcp/1883@127.0.0.1:1883.`
      );
    }
    if (names.has(name)) throw new RangeError(`The service "${name}" is offered twice.`);
    names.add(name);
  }
  return offers;
}

/** @param {string} text */
function isPort(text) {
  return Number(text) >= 1 && Number(text) <= 65535;
}

/**
 * Checks what a program that the gateway starts needs.
 * @param {{ address: string, root: string, token: string }} values
 * @returns {string} a sentence, '' = nothing is wrong
 */
function joinProblem({ address, root, token }) {
  const given = [address, root, token].filter(Boolean).length;
  if (given === 0 || given === 3) return '';
  return 'To join a network, enter all three: the address of its services, the fingerprint of its root and the token of an invitation. A machine that has joined needs none.';
}

module.exports = {
  rows,
  schema: schemaOf(rows),
  peerSchema: schemaOf(peerRows),
  EVENTS,
  joinProblem,
  parseOffers
};
