'use strict';

const path = require('node:path');
const { HttpServer } = require('../../../nodes/lib/sources/http/http-server');
const { serverTls } = require('../../../nodes/lib/sources/http/http-tls');

/** @param {any} tlsNode @param {any} [config] */
const red = (tlsNode, config = {}) =>
  /** @type {any} */ ({
    nodes: { getNode: () => tlsNode, eachNode: (/** @type {any} */ see) => see({ id: 'tls', ...config }) },
    util: { evaluateNodeProperty: () => '' }
  });
const node = /** @type {any} */ ({});

test.each([
  ['a missing TLS node', null, /^The TLS node of the listener is missing or disabled/],
  [
    'a TLS node whose files cannot be read',
    { valid: false, name: 'web', addTLSOptions: () => ({}) },
    /^The TLS node "web"/
  ],
  [
    'a TLS node without a key',
    { valid: true, addTLSOptions: () => ({ cert: 'c' }) },
    /has no certificate and key/
  ]
])('%s is refused without a word about an uplink', (_name, tlsNode, reason) => {
  const check = () => serverTls(red(tlsNode), node, 'tls');
  expect(check).toThrow(reason);
  expect(check).not.toThrow(/uplink|records/);
});

test('a listener whose key is missing does not claim that records are kept', async () => {
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join('/nowhere', name));
  const tlsNode = { valid: false, addTLSOptions: () => ({}) };
  const tls = serverTls(red(tlsNode, { cert, key }), node, 'tls');
  const settings = /** @type {any} */ ({ port: 0, host: '127.0.0.1', maxConnections: 1 });
  const listening = new HttpServer(settings, /** @type {any} */ ({}), tls, () => {}).listen();
  await expect(listening).rejects.toThrow(
    `The certificate of this gateway ${cert} cannot be read (ENOENT). There is no such file. Create it, or correct the path.`
  );
});
