'use strict';
// No message repeats a password from a URL.

const { brokerAddress } = require('../../../nodes/lib/settings/broker-options');
const { schema, sourceOptions } = require('../../../nodes/lib/sources/mqtt-source/mqtt-source-options');
const { parseCoapUrl } = require('../../../nodes/lib/sources/observe/coap-url');
const { parseOptions, text } = require('../../../nodes/lib/base/options');
const { checkBroker } = require('../../../nodes/lib/network/paths/path-settings');
const { shownUrl } = require('../../../nodes/lib/base/shown-url');
const { parseBrokerUrl } = require('../../../nodes/lib/settings/broker-url');
const { uplinkUrl } = require('../../../flows/launcher/checks');

test.each([
  ['mqtts://broker:8883', 'mqtts://broker:8883'],
  ['mqtts://gw:pass@broker', 'mqtts://…@broker'],
  ['mqtts://gw:pa/ss@broker:8883', 'mqtts://…@broker:8883'],
  ['mqtts://gw:p@ss@broker', 'mqtts://…@broker'],
  ['mqtts:/gw:pass@broker', '…@broker'],
  ['gw:pass@broker:1883', '…@broker:1883'],
  ['mqtts://gw:pa\nss@broker', 'mqtts://…@broker'],
  ['broker 1', 'broker 1'],
  ['', '']
])('shows %j as %j', (given, shown) => {
  expect(shownUrl(given)).toBe(shown);
});

const source = (url) => {
  const { values, problems } = parseOptions({ url, topics: 'a/#' }, schema);
  if (problems.length > 0) throw new Error(problems[0]);
  return sourceOptions(values, { clientId: 'x', maxPacketBytes: 1, tls: {} });
};
const broker = (url) => {
  const { values, problems } = parseOptions({ url }, { url: text('', /^\S+$/, 'an address') });
  if (problems.length > 0) throw new Error(problems[0]);
  return brokerAddress(values.url);
};

describe.each([
  ['SEGANET_UPLINK_URL', uplinkUrl],
  ['an uplink broker node', broker],
  ['an mqtt source node', source],
  ['the uplink', parseBrokerUrl],
  ['seganet-paths --broker', checkBroker],
  ['a coap observe node', parseCoapUrl]
])('%s', (_name, check) => {
  test.each([
    'mqtts://user:S3cret/x@broker:8883',
    'mqtts://user:S3cret@broker:883333',
    'ws://user:S3cret@broker:8083',
    'wss+x://user:S3cret@bro_ker',
    'mqtts://user:S3cret@bro ker',
    'mqtts://user:S3cret@',
    'user:S3cret@broker',
    'coap://user:S3cret@broker:99999/x'
  ])('does not repeat the password of %s', (url) => {
    let logged = '';
    try {
      check(url);
    } catch (error) {
      logged = `${error.message} ${error.cause?.message ?? ''}`;
    }
    expect(logged).not.toMatch(/S3cret/);
  });
});
