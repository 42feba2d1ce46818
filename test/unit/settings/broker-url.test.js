'use strict';

const {
  brokerUrlOf,
  brokerUrlsOf,
  parseBrokerUrl,
  parseBrokerUrls
} = require('../../../nodes/lib/settings/broker-url');
const { schema } = require('../../../nodes/lib/settings/broker');
const { cpuMs } = require('../../fixtures/cpu-time');

test.each([
  ['mqtts://broker.example.com', { host: 'broker.example.com', port: 8883, secure: true }],
  ['mqtt://127.0.0.1:1884', { host: '127.0.0.1', port: 1884, secure: false }],
  ['mqtts://[::1]:9000', { host: '::1', port: 9000, secure: true }],
  ['mqtts://müller.example', { host: 'xn--mller-kva.example', port: 8883, secure: true }]
])('%s is parsed', (url, address) => expect(parseBrokerUrl(url)).toEqual(address));

test.each([
  ['', /^is missing\. .*mqtts:\/\/broker\.example\.com:8883\.$/],
  [
    'broker.example.com',
    /^must be a URL such as mqtts:\/\/broker\.example\.com:8883, not "broker\.example\.com"\.$/
  ],
  ['http://x', /^must start with mqtts:\/\/ or mqtt:\/\/, .* not with http:\/\/\.$/],
  ['mqtts://', /^must name a host, as in mqtts:\/\/broker\.example\.com:8883\.$/],
  ['mqtts://%zz.example', /^must name a host/],
  ['mqtts://cloud%2Fevil.example', /^must name a host/],
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

describe('a list of URLs', () => {
  test('is parsed in its order, with a port and a protocol for each', () => {
    expect(parseBrokerUrls('mqtts://a.example, mqtt://[::1]:1884 ,mqtts://A.example:8884')).toEqual([
      { host: 'a.example', port: 8883, secure: true },
      { host: '::1', port: 1884, secure: false },
      { host: expect.stringMatching(/^a\.example$/i), port: 8884, secure: true }
    ]);
    expect(parseBrokerUrls('mqtts://a')).toEqual([parseBrokerUrl('mqtts://a')]);
  });

  test.each([
    ['mqtts://a,', /^has a list of URLs whose number 2 is missing\. /],
    [',mqtts://a', /^has a list of URLs whose number 1 is missing\. /],
    ['mqtts://a,b:1883', /^has a list of URLs whose number 2 must start with mqtts:/],
    ['mqtts://a,mqtts://b:0', /^has a list of URLs whose number 2 has port 0/],
    ['mqtts://a,mqtts://b,mqtts://a:8883', /^lists a:8883 twice\. Remove one of the two\.$/],
    ['mqtt://a:1,mqtts://A:1', /^lists a:1 twice/],
    [
      Array.from({ length: 9 }, (_, i) => `mqtts://h${i}`).join(),
      /^lists 9 URLs; the most are 8\. Remove some\.$/
    ]
  ])('%j is refused', (urls, reason) => expect(() => parseBrokerUrls(urls)).toThrow(reason));

  test('may have eight URLs', () => {
    expect(parseBrokerUrls(Array.from({ length: 8 }, (_, i) => `mqtts://h${i}`).join()).length).toBe(8);
  });

  test('never shows a piece of a password that has a comma', () => {
    expect(() => brokerUrlsOf('mqtts://me:se,cret@cloud', 'The address')).toThrow(
      /^The address must not contain a user name or password\. Move them to their own fields/
    );
  });

  test('is the value of one property, whose parser takes linear time', () => {
    expect(schema.url(' mqtts://a , mqtts://b ')).toBe('mqtts://a , mqtts://b');
    expect(() => schema.url('mqtts://a mqtts://b')).toThrow(/several separated by commas/);
    const beganAt = cpuMs();
    expect(() => schema.url(`${'a,'.repeat(20000)} `)).toThrow(RangeError);
    expect(cpuMs() - beganAt).toBeLessThan(1000);
  });
});
