'use strict';

const { accessSentence, meaningOf, topicSentence } = require('../../../../nodes/lib/kafka/uplink/errors');

const protocol = (apiId, apiCode, message = 'text') =>
  Object.assign(new Error(message), { code: 'PLT_KFK_PROTOCOL', apiId, apiCode });
const nested = (...errors) =>
  Object.assign(new AggregateError(errors, 'failed'), { code: 'PLT_KFK_MULTIPLE' });

test.each([
  ['MESSAGE_TOO_LARGE', 10, 'size'],
  ['INVALID_RECORD', 87, 'record'],
  ['INVALID_TOPIC_EXCEPTION', 17, 'name'],
  ['TOPIC_AUTHORIZATION_FAILED', 29, 'topic'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 3, 'topic'],
  ['NOT_ENOUGH_REPLICAS', 19, 'busy'],
  ['NOT_LEADER_OR_FOLLOWER', 6, 'busy'],
  ['SASL_AUTHENTICATION_FAILED', 58, 'access'],
  ['an error of a later version', 999, 'busy']
])('understands %s in the middle of other errors', (apiId, apiCode, kind) => {
  const error = nested(new Error('other'), nested(protocol(apiId, apiCode)));
  expect(meaningOf(error)).toMatchObject({ kind, code: apiId, number: apiCode });
});

test("reads the system's code of a connection that failed", () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
  const error = nested(Object.assign(new Error('Connection failed', { cause }), { code: 'PLT_KFK_NETWORK' }));
  expect(meaningOf(error)).toMatchObject({ kind: 'connection', code: 'ECONNREFUSED' });
});

test('takes a certificate that is not accepted for a matter of the operator', () => {
  const cause = Object.assign(new Error('self-signed'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
  const meaning = meaningOf(nested(new Error('no', { cause })));
  expect(meaning.kind).toBe('access');
  expect(accessSentence(meaning)).toMatch(/certificate .*SELF_SIGNED_CERT_IN_CHAIN/);
});

test('takes the login of the client for a matter of the operator', () => {
  const error = Object.assign(new Error('SASL authentication failed.'), { code: 'PLT_KFK_AUTHENTICATION' });
  expect(meaningOf(error).kind).toBe('access');
});

test('survives an error that contains itself, and values that are no errors', () => {
  const error = new Error('circle');
  error.cause = error;
  expect(meaningOf(error).kind).toBe('connection');
  for (const value of [undefined, null, 'text', 7]) expect(meaningOf(value).kind).toBe('connection');
});

test('names the topic and the remedy', () => {
  expect(topicSentence('a', { code: 'UNKNOWN_TOPIC_OR_PARTITION' })).toMatch(/"a" does not exist.*Create it/);
  expect(topicSentence('a', { code: 'TOPIC_AUTHORIZATION_FAILED' })).toMatch(/does not allow.*ACL/);
});

test('names the permission that is missing, not the password, if the cluster does not allow something', () => {
  const meaning = meaningOf(protocol('CLUSTER_AUTHORIZATION_FAILED', 31, 'Cluster authorization failed.'));
  expect(meaning.kind).toBe('access');
  expect(accessSentence(meaning)).toMatch(/does not allow .*Add the ACL of the cluster; the records wait/);
});
