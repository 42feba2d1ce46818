'use strict';

const { GatewayTopics } = require('../../../nodes/lib/unbatch/gateway-topics');
const { parseKey } = require('../../../nodes/lib/unbatch/record-key');

const key = (/** @type {string} */ gateway, lane = 3) => parseKey(`${gateway}/mdl3k2x1q/${lane}/7`);
const SHIPPED = 'gw/{gateway}/{class}';

/** @type {[string, string, [string, number?], boolean][]} templates, topic, gateway and class, accepted */
const CASES = [
  [SHIPPED, 'gw/pi-1/normal', ['pi-1'], true],
  [SHIPPED, 'gw/pi-1/normal/history', ['pi-1'], true],
  [SHIPPED, 'gw/pi-1/critical', ['pi-1', 1], true],
  [SHIPPED, 'gw/pi-1/5', ['pi-1', 5], true],
  [SHIPPED, 'gw/pi-2/normal', ['pi-1'], false],
  [SHIPPED, 'gw/pi-1/critical', ['pi-1'], false],
  [SHIPPED, 'gw/pi-1/3', ['pi-1'], false],
  [SHIPPED, 'gw/pi-1', ['pi-1'], false],
  [SHIPPED, 'gw/pi-1/normal/x', ['pi-1'], false],
  [SHIPPED, 'x/gw/pi-1/normal', ['pi-1'], false],
  [SHIPPED, 'gw/pi-2/normal/gw/pi-1/normal', ['pi-1'], false],
  [SHIPPED, 'gw/pi-11/normal', ['pi-1'], false],
  [SHIPPED, 'gw/+/normal', ['pi-1'], false],
  [SHIPPED, '', ['pi-1'], false],
  [SHIPPED, 'hall/raw', ['pi-1'], false],
  ['gw/{gateway}', 'gw/pi-1', ['pi-1', 2], true],
  ['a/{gateway}/{device}/{class}', 'a/pi-1/m/7/normal', ['pi-1'], true],
  ['a/{gateway}/{device}/{class}', 'a/pi-2/a/pi-1/normal', ['pi-1'], false],
  ['rec/{gateway}/{topic}', 'rec/pi-2/rec/pi-1/x', ['pi-1'], false],
  ['rec/{gateway}/{topic}', 'rec/pi-1/hall\nx', ['pi-1'], true],
  [`${SHIPPED}, rec/{gateway}/{topic}`, 'rec/pi-1/x', ['pi-1'], true],
  [`${SHIPPED}, rec/{gateway}/{topic}`, 'gw/pi-1/high', ['pi-1'], false],
  // Characters of regular expressions.
  ['g.w/{gateway}', 'gxw/pi-1', ['pi-1'], false],
  ['gw/{gateway}', 'gw/a.b', ['axb'], false],
  ['gw/{gateway}', 'gw/a(b', ['a(b'], true],
  ['gw/{gateway}', 'gw/.*', ['pi-1'], false],
  ['gw/{gateway}', 'gw/pi-1', ['.*'], false],
  ['', 'anything', ['pi-1'], true]
];

test.each(CASES)(
  '%s: the topic %j with the key of %j: accepted: %s',
  (text, topic, [gateway, lane], isAllowed) => {
    const refusal = new GatewayTopics(text, '/history').refusal(topic, key(gateway, lane));
    expect(refusal === '').toBe(isAllowed);
    if (!isAllowed) expect(refusal).toMatch(/refused/);
  }
);

test('says whether the topic or the key is wrong', () => {
  const topics = new GatewayTopics(SHIPPED, '');
  expect(topics.refusal('gw/pi-2/normal', key('pi-1'))).toBe(
    'A message on the topic "gw/pi-2/normal" has the key of the gateway "pi-1" and the class normal. It is refused, because the topic is not theirs.'
  );
  expect(topics.refusal('gw/pi-2/normal/history', key('pi-2'))).toMatch(
    /^No gateway has the topic .* add the topic to Topic of the gateways/
  );
  expect(topics.refusal('gw/pi-2/normal', null)).toBe('');
});

test.each([
  ['gw/{class}', /does not name the gateway/],
  ['gw/{device}/{gateway}', /before, or in the level of/],
  ['gw/{gateway}-{device}', /before, or in the level of/],
  ['gw/+/{gateway}', /must not contain/],
  ['gw/{gateway}/{x}', /unknown placeholder/],
  [`gw/{gateway}, gw/{gateway`, /unmatched brace/],
  [`gw/{gateway}${'x'.repeat(5000)}`, /at most 4096 characters/]
])('refuses the setting %s', (text, sentence) => {
  expect(() => new GatewayTopics(text, '')).toThrow(sentence);
});
