'use strict';

const { brokerAddress, tlsOptions, tlsFiles } = require('../../../nodes/lib/settings/broker-options');

test('accepts an encrypted address without a warning', () => {
  expect(brokerAddress('mqtts://cloud.example:8883')).toEqual({
    url: 'mqtts://cloud.example:8883',
    warning: ''
  });
});

test.each(['mqtt://localhost', 'mqtt://127.0.0.1:1884', 'mqtt://[::1]:1883'])(
  'knows that %s stays on this machine',
  (url) => {
    expect(brokerAddress(url).warning).toBe('');
  }
);

test('warns of an address without encryption', () => {
  expect(brokerAddress('mqtt://10.0.0.1:1883').warning).toMatch(/not encrypted/);
});

test.each([
  ['', /address of the uplink broker is missing/],
  ['cloud', /uplink broker must be a URL such as mqtts:/],
  ['http://cloud', /must start with mqtts:/],
  ['mqtts://', /must name a host/],
  ['mqtts://cloud:0', /has port 0/],
  ['mqtts://user:secret@cloud', /user name or password/]
])('refuses %p', (url, reason) => {
  expect(() => brokerAddress(url)).toThrow(reason);
});

test('warns of each address of a list that is not encrypted, and keeps the list as it is', () => {
  const url = 'mqtts://a.example, mqtt://10.0.0.1:1884,mqtt://127.0.0.1,mqtt://10.0.0.2';
  expect(brokerAddress(url)).toEqual({
    url,
    warning: 'The uplink to 10.0.0.1:1884 and 10.0.0.2 is not encrypted. Use mqtts:// outside this machine.'
  });
});

test('repeats no password in a sentence', () => {
  const sentenceOf = (url) => {
    try {
      return brokerAddress(url).url;
    } catch (error) {
      return error.message;
    }
  };
  expect(sentenceOf('mqtts://user:secret@cloud')).not.toContain('secret');
  expect(sentenceOf('http://user:secret@cloud')).not.toContain('secret');
});

test('uses the authorities of the system without a TLS node', () => {
  expect(tlsOptions('', null, 'uplink broker')).toEqual({});
});

test('takes the options of a TLS node', () => {
  const node = {
    valid: true,
    addTLSOptions: (options) => ({ ...options, ca: 'x', rejectUnauthorized: true })
  };
  expect(tlsOptions('tls', node, 'uplink broker')).toEqual({ ca: 'x', rejectUnauthorized: true });
});

test('refuses a TLS node that is missing or not valid, and never ignores it', () => {
  expect(() => tlsOptions('tls', null, 'listener')).toThrow(
    /^The TLS node of the listener is missing or disabled/
  );
  expect(() =>
    tlsOptions('tls', { valid: false, name: 'cloud', addTLSOptions: () => ({}) }, 'listener')
  ).toThrow(/"cloud" cannot be used/);
});

describe('local files of a TLS node', () => {
  const env = { CA: '/etc/ca.pem', EMPTY: '' };
  const files = (config) => tlsFiles(config, (name) => env[name]);

  test('are known by their paths, with variables replaced as in Node-RED', () => {
    expect(files({ ca: ' /a/ca.pem ', cert: '', key: '' })).toEqual({ ca: '/a/ca.pem' });
    expect(files({ certType: 'files', ca: '${CA}', cert: '${EMPTY}', key: '$(NOT_SET)' })).toEqual({
      ca: '/etc/ca.pem'
    });
    expect(files({ certType: 'pfx', p12: '/a/own.p12', ca: '/a/ca.pem' })).toEqual({ pfx: '/a/own.p12' });
    expect(files({ cert: 'c.pem', key: 'k.pem' })).toEqual({ cert: 'c.pem', key: 'k.pem' });
  });

  test.each([
    undefined,
    {},
    { certType: 'pfx', ca: 'x' },
    { certType: 'pfx', p12: '' },
    { certType: 'env', ca: 'x' },
    { cert: 'c.pem' },
    { ca: '${EMPTY}' }
  ])('do not exist for %j', (config) => {
    expect(files(config)).toBeUndefined();
  });

  test('that are unreadable now are tried at each connection', () => {
    const node = { valid: false, addTLSOptions: (options) => ({ ...options, rejectUnauthorized: true }) };
    expect(tlsOptions('tls', node, 'uplink broker', { ca: '/a/ca.pem' })).toEqual({
      rejectUnauthorized: true
    });
  });
});
