'use strict';

const {
  compileTopic,
  topicBytes,
  topicIsValid,
  validateTopicTemplate,
  writeTopic
} = require('../../../nodes/lib/base/topic-template');

function render(template, { device = 'dev1', topic = 'a/b', recordClass = 3, gateway = 'gw1' } = {}) {
  const { parts } = compileTopic(template, gateway);
  const buffer = Buffer.from(device + topic);
  const deviceLength = Buffer.byteLength(device);
  const fields = {
    buffer,
    deviceAt: 0,
    deviceLength,
    topicAt: deviceLength,
    topicLength: buffer.length - deviceLength
  };
  const out = Buffer.alloc(200);
  const end = writeTopic(parts[recordClass], fields, out, 0);
  expect(topicBytes(parts[recordClass], fields)).toBe(end);
  return out.toString('utf8', 0, end);
}

test.each([
  ['gw/{gateway}/{class}', 'gw/gw1/normal'],
  ['{topic}', 'a/b'],
  ['{gateway}/{device}/{topic}', 'gw1/dev1/a/b'],
  ['plain', 'plain'],
  ['{device}{device}', 'dev1dev1'],
  ['ü/{topic}', 'ü/a/b']
])('renders %s as %s', (template, expected) => {
  expect(validateTopicTemplate(template)).toBe(true);
  expect(render(template)).toBe(expected);
});

test('names each class, from 5 on by its number', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8].map((recordClass) => render('{class}', { recordClass }))).toEqual([
    ...['critical', 'high', 'normal', 'bulk'],
    ...['5', '6', '7', '8']
  ]);
});

test('does not expand a gateway id that looks like a placeholder', () => {
  expect(render('{gateway}', { gateway: '{topic}' })).toBe('{topic}');
});

test('keeps a device id on one level without wildcards', () => {
  expect(render('gw/{device}', { device: 'x/../+/#/\0' })).toBe('gw/x_..______');
});

test.each(['a/+', '#', 'a\0b'])('rejects record topic %j', (topic) => {
  const buffer = Buffer.from(topic);
  expect(topicIsValid({ buffer, deviceAt: 0, deviceLength: 0, topicAt: 0, topicLength: buffer.length })).toBe(
    false
  );
});

test.each([
  ['', /empty/],
  [undefined, /empty/],
  ['a/+/b', /\+ or #/],
  ['a/#', /\+ or #/],
  ['a\0b', /NUL/],
  ['a/{devise}', /unknown placeholder \{devise\}/],
  ['${GATEWAY}/x', /unknown placeholder \{GATEWAY\}/],
  ['a/{device', /brace/],
  ['\ud800', /Unicode/],
  ['x'.repeat(70000), /longer/]
])('refuses the template %j with a reason', (template, reason) => {
  expect(validateTopicTemplate(template)).toMatch(reason);
});
