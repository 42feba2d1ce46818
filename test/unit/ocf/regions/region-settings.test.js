'use strict';
// The settings of an ocf cloud node that is a region, and the certificates that it trusts.

const crypto = require('node:crypto');
const { needs } = require('../../../../bench/harness/tools');
const { parseOptions } = require('../../../../nodes/lib/base/options');
const { regionSettings, schema } = require('../../../../nodes/lib/ocf/node/region-settings');
const { LinkSecrets, isPeer, parseNames } = require('../../../../nodes/lib/ocf/regions/links/peers');
const { Authority } = require('../../../fixtures/devices/authority');

const { describe } = needs('openssl');
const ADDRESS = 'coaps+tcp://gateway-1.example:5685';

test('addresses of regions are in lower case, with TLS, and have no path', () => {
  const problems = (regionAddress) => parseOptions({ regionAddress }, schema).problems;
  for (const good of ['', ADDRESS, 'coaps+tcp://[2001:db8::1]', 'coaps+tcp://10.0.0.1:1']) {
    expect(problems(good)).toEqual([]);
  }
  for (const wrong of ['coap+tcp://a', 'coaps+tcp://A', `${ADDRESS}/x`, 'coaps+tcp://a b', 'gateway-1']) {
    expect(problems(wrong).join()).toContain('regionAddress');
  }
});

describe('the settings of a region', () => {
  /** @type {Authority} */
  let authority;
  let files;
  beforeAll(() => {
    authority = new Authority();
    files = authority.issue({ san: 'DNS:gateway-1.example,IP:10.0.0.1', name: 'one' });
  });
  afterAll(() => authority?.remove());

  /** @param {object} values @param {{ tls?: any, kafka?: any, net?: any }} [nodes] */
  function settings(values, nodes = {}) {
    const tls = {
      addTLSOptions: () => ({ ca: authority.ca, cert: files.cert, key: files.key }),
      ...nodes.tls
    };
    const cluster = { type: 'seganet-kafka', options: { clientId: '', brokers: [] }, ...nodes.kafka };
    const found = { tls, kafka: cluster, net: nodes.net };
    const RED = { nodes: { getNode: (id) => found[id] ?? null, eachNode: () => {} }, util: {} };
    const all = { regionAddress: ADDRESS, regionTls: 'tls', regionKafka: 'kafka', ...values };
    const parsed = parseOptions(all, schema);
    expect(parsed.problems).toEqual([]);
    return regionSettings(/** @type {any} */ (RED), /** @type {any} */ ({}), parsed.values, 'gw 1');
  }

  test('are off without an address', () => expect(settings({ regionAddress: '' })).toBeNull());

  test('have the port of the address, unless another one is set', () => {
    expect(settings({})).toMatchObject({ own: ADDRESS, names: [], listen: { host: '0.0.0.0', port: 5685 } });
    expect(settings({ regionPort: '6000', regionHost: '127.0.0.1', regionPeers: 'a, OU=b' })).toMatchObject({
      listen: { host: '127.0.0.1', port: 6000 },
      names: ['a', 'OU=b']
    });
  });

  test('by an overlay, other regions have names of it, and the port of the address is offered', async () => {
    const offered = [];
    const link = {
      place: async (host, port) => ({ host: '127.0.0.1', port: port + 1, name: host }),
      offer: (service) => (offered.push(service), async () => {})
    };
    const region = settings({ regionOverlay: 'net', regionPort: '6000' }, { net: { link } });
    expect(await region?.place?.('gw-2', 5685)).toEqual({ host: '127.0.0.1', port: 5686, name: 'gw-2' });
    region?.offer?.({ host: '0.0.0.0', port: 6000, network: 'tcp' });
    expect(offered).toEqual([
      { name: 'ocf-region-5685', network: 'tcp', port: 5685, target: '127.0.0.1:6000' }
    ]);
    expect(settings({})).not.toHaveProperty('place');
  });

  test.each([
    ['an overlay that is not started', { regionOverlay: 'net' }, { net: {} }, 'not started'],
    ['a port above 65535', { regionAddress: 'coaps+tcp://a:70000' }, {}, 'no valid host or port'],
    ['no TLS node', { regionTls: '' }, {}, 'no TLS node'],
    ['no cluster', { regionKafka: '' }, {}, 'No Kafka cluster'],
    ['a topic that Kafka does not allow', { regionTopic: 'a b' }, {}, 'not the name of a Kafka topic'],
    ['more than 64 names', { regionPeers: Array(65).fill('x').join() }, {}, 'more than 64 names'],
    ['no authority', {}, { tls: { addTLSOptions: () => ({ cert: 'c', key: 'k' }) } }, 'no CA certificate'],
    ['no key', {}, { tls: { addTLSOptions: () => ({ ca: 'c' }) } }, 'no certificate or no private key'],
    [
      'a wrong key',
      {},
      { tls: { addTLSOptions: () => ({ ca: 'c', cert: 'c', key: 'k' }) } },
      'cannot be used'
    ],
    ['a PFX file', {}, { tls: { certType: 'pfx' } }, 'PFX']
  ])('%s is a sentence', (_name, values, nodes, sentence) =>
    expect(() => settings(values, nodes)).toThrow(sentence)
  );

  test('a certificate must be for the host of the address, or have one of the names', () => {
    const certificate = new crypto.X509Certificate(files.cert);
    expect(isPeer(certificate, ADDRESS, [])).toBe(true);
    expect(isPeer(certificate, 'coaps+tcp://10.0.0.1:1', [])).toBe(true);
    expect(isPeer(certificate, 'coaps+tcp://10.0.0.2:1', [])).toBe(false);
    expect(isPeer(certificate, 'coaps+tcp://gateway-2.example:1', [])).toBe(false);
    expect(isPeer(certificate, 'nonsense', [])).toBe(false);
    for (const name of ['one', 'gateway-1.example', '10.0.0.1']) {
      expect(isPeer(certificate, 'coaps+tcp://x:1', parseNames(`other ${name}`))).toBe(true);
    }
    for (const name of ['two', 'example', '*', 'OU=one']) {
      expect(isPeer(certificate, ADDRESS, [name])).toBe(false);
    }
  });

  test('replaced files are noticed', async () => {
    const { certFile, keyFile } = files;
    const secrets = new LinkSecrets({
      contents: {},
      files: { ca: authority.caFile, cert: certFile, key: keyFile }
    });
    expect(secrets.read().cert?.toString()).toBe(files.cert);
    expect(await secrets.haveChanged()).toBe(false);
    require('node:fs').appendFileSync(certFile, '\n');
    expect(await secrets.haveChanged()).toBe(true);
  });
});
