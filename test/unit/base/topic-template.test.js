'use strict';

const { PublishWriter } = require('../../../native');
const { compileTopic, validateTopicTemplate } = require('../../../nodes/lib/base/topic-template');

/** Lets the engine write the topic of a single record. Returns null if it is not valid. */
function render(template, { device = 'dev1', topic = 'a/b', recordClass = 3, gateway = 'gw1' } = {}) {
  const writer = new PublishWriter();
  const parts = compileTopic(template, gateway);
  const name = Buffer.from(gateway);
  writer.setStages([
    {
      id: 1,
      topic: parts,
      recordTopic: parts,
      qos: 1,
      keyRaw: name,
      keyJson: name,
      history: 'none',
      historySuffix: Buffer.alloc(0)
    }
  ]);
  const meta = new Float64Array(16);
  meta[1] = recordClass;
  meta[10] = Buffer.byteLength(topic);
  meta[11] = Buffer.byteLength(device);
  const bytes = Buffer.from(device + topic);
  const size = writer.prepare(1, bytes, meta, bytes.length, bytes.length, -1);
  return size === 0 ? null : writer.topic();
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
  expect(render('x/{topic}', { topic })).toBe(null);
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
