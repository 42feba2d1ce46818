'use strict';
// A simulated lamp: an OCF device with one resource that can be read, changed and observed.

const cbor = require('cbor');

const LIGHT = {
  href: '/light/1',
  rt: ['core.light'],
  if: ['oic.if.rw', 'oic.if.baseline'],
  ins: 0,
  p: { bm: 3 }
};
const ABOUT = { href: '/oic/d', rt: ['oic.wk.d'], if: ['oic.if.r'], ins: 0, p: { bm: 1 } };

/** @typedef {import('./client').Client} Client */
/** @typedef {{ on: boolean }} State */

/**
 * Makes a client answer as a lamp.
 * @param {Client} client
 * @param {State} [state]
 * @param {(state: State) => void} [onChange]
 */
function asLamp(client, state = { on: false }, onChange = () => {}) {
  /** @type {{ token: Buffer, next: number }[]} */
  const observers = [];
  client.serve = (/** @type {any} */ { method, path, query, observe, payload, token }) => {
    if (path !== LIGHT.href) return null;
    if (method === 'DELETE') return { code: '2.02' };
    if (method !== 'GET') {
      try {
        state.on = Boolean(cbor.decodeFirstSync(payload).on);
      } catch {
        return { code: '4.00' };
      }
      for (const each of observers) client.respond(each.token, { observe: ++each.next, body: { ...state } });
      onChange(state);
      return { code: '2.04', body: { ...state } };
    }
    const index = observers.findIndex((each) => each.token.equals(token));
    if (observe === 1 && index >= 0) observers.splice(index, 1);
    if (observe === 0) observers.push({ token, next: 2 });
    return { body: { ...state, query: query.join('&') }, ...(observe === 0 ? { observe: 2 } : {}) };
  };
  return Object.assign(client, { state, observers, href: `/oic/route/${client.di}${LIGHT.href}` });
}

module.exports = { asLamp, LIGHT, ABOUT };
