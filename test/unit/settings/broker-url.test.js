'use strict';

const { brokerUrlOf, parseBrokerUrl } = require('../../../nodes/lib/settings/broker-url');

test.each([
  ['mqtts://broker.example.com', { host: 'broker.example.com', port: 8883, secure: true }],
  ['mqtt://127.0.0.1:1884', { host: '127.0.0.1', port: 1884, secure: false }],
  ['mqtts://[::1]:9000', { host: '::1', port: 9000, secure: true }]
])('%s is parsed', (url, address) => expect(parseBrokerUrl(url)).toEqual(address));

test.each([
  ['', /^is missing\. .*mqtts:\/\/broker\.example\.com:8883\.$/],
  [
    'broker.example.com',
    /^must be a URL such as mqtts:\/\/broker\.example\.com:8883, not "broker\.example\.com"\.$/
  ],
  ['http://x', /^must start with mqtts:\/\/ or mqtt:\/\/, .* not with http:\/\/\.$/],
  ['mqtts://', /^must name a host, as in mqtts:\/\/broker\.example\.com:8883\.$/],
  ['mqtts://cloud:0', /^has port 0\. /],
  ['mqtts://cloud:99999', /^must be a URL/],
  ['mqtts://me:secret@cloud', /^must not contain a user name or password\. Move them to their own fields/],
  ['mqtts://me@cloud', /^must not contain a user name/]
])('%j is refused', (url, reason) => expect(() => parseBrokerUrl(url)).toThrow(reason));

test('the caller names where a user name and a password belong', () => {
  expect(() => parseBrokerUrl('mqtts://me:secret@cloud', { remedy: 'Set USER and PASSWORD' })).toThrow(
    /^must not contain a user name or password\. Set USER and PASSWORD\.$/
  );
});

test('other names of the schemes are accepted only where the caller wants them', () => {
  expect(() => parseBrokerUrl('tcp://cloud')).toThrow(/must start with/);
  expect(parseBrokerUrl('tcp://cloud', { takesAliases: true })).toEqual({
    host: 'cloud',
    port: 1883,
    secure: false
  });
  expect(parseBrokerUrl('ssl://cloud', { takesAliases: true })).toMatchObject({ port: 8883, secure: true });
});

test('a sentence begins with the name that the caller gives', () => {
  expect(() => brokerUrlOf('cloud', "The address of the source's broker")).toThrow(
    /^The address of the source's broker must be a URL such as /
  );
});
