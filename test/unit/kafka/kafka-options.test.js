'use strict';

const { parseOptions } = require('../../../nodes/lib/base/options');
const { schema } = require('../../../nodes/lib/kafka/settings/kafka');
const {
  checkOptions,
  clusterOptions,
  parseBrokers
} = require('../../../nodes/lib/kafka/settings/kafka-options');
const { parseTopics } = require('../../../nodes/lib/kafka/source/kafka-source-options');
const { seeded } = require('../../fixtures/random');

const optionsOf = (settings, tls = { node: null, files: undefined }) =>
  clusterOptions(parseOptions({ brokers: 'k:1', ...settings }, schema).values, tls);

test('parses brokers with and without a port, in all ways of writing a host', () => {
  expect(parseBrokers('kafka-1, 10.0.0.1:9093 [::1]:9094\nk_2.example.org')).toEqual([
    { host: 'kafka-1', port: 9092 },
    { host: '10.0.0.1', port: 9093 },
    { host: '::1', port: 9094 },
    { host: 'k_2.example.org', port: 9092 }
  ]);
});

test.each(['', ' , ', 'kafka://k:9092', 'k:0', 'k:65536', 'k:', 'k:9092/x', 'a b:1 ü', 'user@k:1', '::1'])(
  'refuses the brokers %j with a sentence',
  (text) => expect(() => parseBrokers(text)).toThrow(/Enter (one|host)/)
);

test('returns brokers or throws a TypeError for any text', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  const { integer } = seeded(seed);
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: integer(20) }, () => 'k1.:,[] -_é\0/9'.at(integer(14))).join('');
    try {
      for (const { host, port } of parseBrokers(text)) {
        expect([seed, host.length > 0 && port > 0 && port < 65536]).toEqual([seed, true]);
      }
    } catch (error) {
      expect([seed, /** @type {Error} */ (error).name]).toEqual([seed, 'TypeError']);
    }
  }
});

test('warns about a connection that is not encrypted, but not on this machine', () => {
  expect(optionsOf({ security: 'plaintext' }).warning).toMatch(/k are not encrypted/);
  expect(optionsOf({ security: 'plaintext', sasl: 'plain', username: 'u', password: 'p' }).warning).toMatch(
    /password/
  );
  expect(optionsOf({ security: 'plaintext', brokers: 'localhost:1, 127.0.0.1:2' }).warning).toBe('');
  expect(optionsOf({}).warning).toBe('');
});

test('requires a user name and a password for a login, and a TLS node that verifies', () => {
  expect(() => optionsOf({ sasl: 'scram-sha-256', username: 'u' })).toThrow(/Enter both/);
  expect(optionsOf({ sasl: 'scram-sha-256', username: 'u', password: 'p' }).options.sasl).toEqual({
    mechanism: 'SCRAM-SHA-256',
    username: 'u',
    password: 'p'
  });
  const node = { addTLSOptions: () => ({ rejectUnauthorized: false }) };
  expect(() => optionsOf({ tls: 'id' }, { node, files: undefined })).toThrow(/Turn verification on/);
  expect(() => optionsOf({ tls: 'id' })).toThrow(/missing or disabled/);
});

test('gives class 1 a producer of its own', () => {
  const checked = checkOptions({ ...optionsOf({}).options, gateway: 'gw 1' }, 'native');
  expect(checked.groups).toEqual([[1], [2, 3, 4, 5, 6, 7, 8]]);
  expect(checked.clientIds).toEqual(['gw_1-1', 'gw_1-2']);
});

test('parses the topics of a source', () => {
  expect(parseTopics('a, b.c\na')).toEqual(['a', 'b.c']);
  expect(() => parseTopics(' ')).toThrow(/missing/);
  expect(() => parseTopics('a/b')).toThrow(/"a\/b" is not the name/);
  expect(() => parseTopics(Array.from({ length: 101 }, (_, i) => `t${i}`).join())).toThrow(/more than 100/);
});

test('shares commands only if that is on, by two topics with valid names', () => {
  expect(optionsOf({}).shared).toBeNull();
  expect(optionsOf({ commands: 'on' }).shared).toEqual({
    commands: 'seganet.commands',
    devices: 'seganet.devices'
  });
  expect(() => optionsOf({ commands: 'on', commandsTopic: 'a/b' })).toThrow(
    /'a\/b' is not the name of a Kafka topic/
  );
  expect(() => optionsOf({ commands: 'on', commandsTopic: 'a', devicesTopic: 'a' })).toThrow(
    /Give each its own/
  );
});
