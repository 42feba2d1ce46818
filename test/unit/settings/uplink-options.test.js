'use strict';

const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { explain, explainDisconnect } = require('../../../nodes/lib/uplink/session/reason-codes');
const { lacking, socketOptions } = require('../../../nodes/lib/uplink/session/connection-options');

test('a longest delay that is shorter than the shortest is refused', () => {
  const rest = /** @type {any} */ ({ url: 'mqtts://x', gateway: 'g' });
  expect(() => checkOptions({ ...rest, reconnectMinMs: 9000 }, 'native')).toThrow(
    /\(5000 ms\) is shorter than .*\(9000 ms\)/
  );
});

test('sets a congestion control on the socket only where one is chosen, and explains an unavailable one', () => {
  const rest = /** @type {any} */ ({ url: 'mqtts://x', gateway: 'g' });
  expect(socketOptions(checkOptions(rest, 'native'))).not.toHaveProperty('congestion');
  expect(socketOptions(checkOptions({ ...rest, congestion: ' bbr ' }, 'native'))).toMatchObject({
    congestion: 'bbr'
  });
  expect(lacking(['congestion'])).toMatch(
    /^This system cannot set congestion on .*default congestion control applies.*tcp_allowed_/s
  );
});

test('takes files with keys only for a connection that reads them', () => {
  const tlsFiles = { ca: '/etc/ssl/ca.pem' };
  const filesAt = (/** @type {string} */ url) =>
    checkOptions(/** @type {any} */ ({ url, gateway: 'g', tlsFiles }), 'native').tlsFiles;
  expect(filesAt('mqtts://x')).toEqual(tlsFiles);
  expect(filesAt('mqtt://x')).toEqual({});
});

test('reads strings from an editor as numbers, and empty ones as defaults', () => {
  const options = checkOptions(
    /** @type {any} */ ({
      url: 'mqtts://x',
      gateway: 'g',
      inflight: '8',
      keepalive: '',
      protocolVersion: '4'
    }),
    'native'
  );
  expect(options).toMatchObject({
    inflight: 8,
    keepalive: 30,
    protocolVersion: 4,
    clientId: 'g',
    minTls: 'TLSv1.3'
  });
});

test.each([
  [{ inflight: 0 }, /inflight is 0; it must be a whole number from 1 to 1024/],
  [{ inflight: 'many' }, /inflight is many/],
  [{ congestion: 'bbr2,cubic' }, /'bbr2,cubic' is not a congestion control algorithm.*such as cubic; empty/],
  [{ congestion: 'x'.repeat(16) }, /is not a congestion control algorithm/],
  [{ stateMs: 9 }, /stateMs is 9; it must be a whole number from 10 to 86400000/],
  [{ minTls: 'SSLv3' }, /minTls/],
  [{ protocolVersion: 3 }, /protocolVersion/],
  [{ gateway: 'a/#' }, /gateway id/]
])('refuses %j with a sentence', (wrong, reason) => {
  expect(() =>
    checkOptions(/** @type {any} */ ({ url: 'mqtts://x', gateway: 'g', ...wrong }), 'native')
  ).toThrow(reason);
});

const target = { host: 'cloud', port: 8883, minTls: 'TLSv1.3', protocolVersion: 5 };

test.each([
  ['ECONNREFUSED', /Nothing listens at cloud:8883/, false],
  ['ENOTFOUND', /name cloud is unknown/, false],
  ['CERT_HAS_EXPIRED', /has expired\. Renew/, true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /not for cloud/, true],
  ['SELF_SIGNED_CERT_IN_CHAIN', /not trusted here\. Add/, true],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /not trusted here\. Add/, true],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', /does not speak TLS 1\.3/, true],
  ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS\./, true],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /certificate and key/, true],
  [1, /does not speak MQTT 5\. Choose 3\.1\.1/, true],
  [4, /user name or password/, true],
  [5, /does not allow this client/, true],
  [0x86, /user name or password/, true],
  [0x8a, /banned/, true],
  [0xff, /reason code 255/, true]
])('explains %s with a remedy', (code, sentence, refused) => {
  const error = Object.assign(new Error('x'), { code });
  expect(explain(error, target)).toMatchObject({ reason: expect.stringMatching(sentence), refused });
});

test('has a sentence for an error without a code and for a DISCONNECT', () => {
  expect(explain(new Error('odd'), target).reason).toBe('The connection failed: odd.');
  expect(explainDisconnect(0x8e).reason).toMatch(/same client id/);
  expect(explainDisconnect(undefined).reason).toMatch(/closed the connection/);
});
