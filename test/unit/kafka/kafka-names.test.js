'use strict';

const {
  MAX_NAME,
  compileName,
  escapeName,
  isTopicName,
  unescapeName,
  validateNameTemplate
} = require('../../../nodes/lib/kafka/settings/kafka-names');
const { seeded } = require('../../fixtures/random');

test('keeps letters, digits and hyphens, makes a slash a dot, and escapes every other byte', () => {
  expect(escapeName('hall/meter-7')).toBe('hall.meter-7');
  expect(escapeName('a.b_c')).toBe('a_2eb_5fc');
  expect(escapeName('Küche +')).toBe('K_c3_bcche_20_2b');
  expect(escapeName('\0')).toBe('_00');
  expect(escapeName('')).toBe('');
});

test('restores each text, and gives different texts different names', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  const { integer } = seeded(seed);
  /** @type {Map<string, string>} */
  const names = new Map();
  for (let i = 0; i < 5000; i++) {
    const length = integer(12);
    const text = Array.from({ length }, () => 'a/._-Z9 é😀+#'.at(integer(13))).join('');
    const valid = Buffer.from(text).toString();
    const name = escapeName(valid);
    expect([seed, unescapeName(name)]).toEqual([seed, valid]);
    if (name) expect(name).toMatch(/^[A-Za-z0-9._-]+$/);
    expect([seed, names.get(name) ?? valid]).toEqual([seed, valid]);
    names.set(name, valid);
  }
});

test.each(['_', '_2', '_2E', '_41', '_2f', 'a b', 'é', '_ff', '_c3'])(
  'does not unescape %s, which escapeName never makes',
  (name) => expect(unescapeName(name)).toBeNull()
);

test("knows Kafka's rules for names", () => {
  for (const name of ['a', 'a.b', '...', '_', 'x'.repeat(MAX_NAME)])
    expect([name, isTopicName(name)]).toEqual([name, true]);
  for (const name of ['', '.', '..', 'a/b', 'a b', 'é', 'x'.repeat(MAX_NAME + 1)])
    expect([name, isTopicName(name)]).toEqual([name, false]);
});

test.each([
  ['', /empty/],
  [undefined, /empty/],
  ['a/{class}', /character/],
  ['{clas}', /placeholder \{clas\}/],
  ['a{', /unmatched/],
  ['.', /no topic/],
  ['x'.repeat(250), /249/]
])('explains what is wrong with the template %j', (template, reason) =>
  expect(validateNameTemplate(template)).toMatch(reason)
);

test('allows the values of a record only where there is one record', () => {
  expect(validateNameTemplate('gw.{gateway}.{class}.{device}.{topic}')).toBe(true);
  expect(validateNameTemplate('{device}', { ofRecord: false })).toMatch(/placeholder \{device\}/);
});

test('compiles the gateway and the class into the text', () => {
  const parts = compileName('gw.{gateway}.{class}.{device}-x', 'site/1');
  expect(parts[1]).toEqual(['gw.site.1.critical.', { of: 'device' }, '-x']);
  expect(parts[5]).toEqual(['gw.site.1.5.', { of: 'device' }, '-x']);
});
