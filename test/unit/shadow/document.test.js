'use strict';
// How patches are merged, what the difference is, and what JSON of a device can do.

const { compact, deltaOf, emptyShadow, metadataOf, update } = require('../../../nodes/lib/shadow/document');
const { isEqual, parse, write } = require('../../../nodes/lib/shadow/json');
const { readUpdate } = require('../../../nodes/lib/shadow/patch');
const { seeded } = require('../../fixtures/random');

const AT = 1_767_225_600_000;
const S = AT / 1000;

/** Applies updates, as text, to a new shadow. @param {string[]} texts */
function after(...texts) {
  return texts.reduce(
    (shadow, text, i) => update(shadow, readUpdate(text, null, 8).patch, AT + i * 1000),
    emptyShadow(0)
  );
}
const desired = (shadow) => write(shadow.desired.state);

test('merges objects, replaces arrays as a whole, and removes what is null', () => {
  const shadow = after(
    '{"desired":{"a":{"x":1,"y":2},"list":[1,2,3],"gone":true}}',
    '{"desired":{"a":{"y":null,"z":3},"list":[4],"gone":null,"never":null}}'
  );
  expect(desired(shadow)).toBe('{"a":{"x":1,"z":3},"list":[4]}');
  expect([shadow.version, shadow.desired.version, shadow.reported.version]).toEqual([2, 2, 0]);
});

test('keeps no empty object, and removes a section that is null', () => {
  expect(desired(after('{"desired":{"a":{"b":{"c":1}},"d":{}}}', '{"desired":{"a":{"b":{"c":null}}}}'))).toBe(
    '{}'
  );
  const shadow = after('{"desired":{"a":1},"reported":{"a":2}}', '{"desired":null}');
  expect([desired(shadow), write(shadow.reported.state), shadow.desired.version]).toEqual([
    '{}',
    '{"a":2}',
    2
  ]);
});

test('has a new version only if something changes', () => {
  const text = '{"reported":{"temperature":21.5,"list":[{"a":1}],"o":{"p":"q"}}}';
  const first = after(text);
  expect(update(first, readUpdate(text, null, 8).patch, AT + 5000)).toBe(first);
  expect(after(text, '{"reported":{"temperature":21.50}}').version).toBe(1);
  expect(after(text, '{"reported":{"list":[{"a":1,"b":2}]}}').version).toBe(2);
  // The first update makes the shadow, even with nothing in it.
  expect(after('{"reported":{}}').version).toBe(1);
  expect(update(emptyShadow(7), { reported: parse('{}') }, AT).version).toBe(8);
});

test('changes nothing in place', () => {
  const first = after('{"desired":{"a":{"b":1}}}');
  const before = write(first);
  update(first, readUpdate('{"desired":{"a":{"b":2,"c":3},"d":4}}', null, 8).patch, AT);
  expect(write(first)).toBe(before);
});

test('finds what is desired and not reported so, at each level', () => {
  const delta = (...texts) => {
    const shadow = after(...texts);
    return write(deltaOf(shadow.desired.state, shadow.reported.state));
  };
  expect(
    delta('{"desired":{"a":{"x":1,"y":2},"b":3,"c":[1]},"reported":{"a":{"x":1,"y":0},"c":[1],"more":1}}')
  ).toBe('{"a":{"y":2},"b":3}');
  expect(delta('{"desired":{"a":{"x":1}},"reported":{"a":5}}')).toBe('{"a":{"x":1}}');
  expect(delta('{"desired":{"a":1.0,"b":1e2,"c":-0},"reported":{"a":1,"b":100,"c":0}}')).toBe('{}');
  // What a device removed from its report is missing again.
  expect(delta('{"desired":{"a":1},"reported":{"a":1}}', '{"reported":{"a":null}}')).toBe('{"a":1}');
});

test('has the time of each value, one for an array as a whole', () => {
  const { desired: part } = after(
    '{"desired":{"a":{"x":1},"list":[1,{"k":2}]}}',
    '{"desired":{"a":{"y":2}}}'
  );
  expect(JSON.parse(write(metadataOf(part.state, part.stamps)))).toEqual({
    a: { x: { timestamp: S }, y: { timestamp: S + 1 } },
    list: [{ timestamp: S }, { k: { timestamp: S } }]
  });
});

test('keeps all digits of numbers, and compares them exactly', () => {
  const text =
    '{"desired":{"big":12345678901234567890,"tiny":0.1000000000000000055,"e":1e400,"one":1.0,"zero":-0,"n":[1.50]}}';
  expect(desired(after(text))).toBe(text.slice('{"desired":'.length, -1));
  const same = (a, b) => isEqual(parse(a), parse(b));
  expect(same('9007199254740993', '9007199254740992')).toBe(false);
  expect(same('9007199254740993', '9007199254740993.0')).toBe(true);
  expect(same('1e400', '10e399')).toBe(true);
  expect(same('1e400', '-1e400')).toBe(false);
  expect(same('0.00', '-0e99999999999999999999')).toBe(true);
  expect(same('1', '"1"')).toBe(false);
  expect(same('1e2', '100')).toBe(true);
});

test('takes keys such as __proto__ as keys', () => {
  const text = '{"desired":{"__proto__":{"polluted":1},"constructor":{"prototype":{"x":1}},"toString":2}}';
  const shadow = after(text, '{"reported":{"__proto__":{"polluted":2}}}');
  expect(/** @type {any} */ ({}).polluted).toBeUndefined();
  expect(desired(shadow)).toBe(text.slice('{"desired":'.length, -1));
  expect(write(deltaOf(shadow.desired.state, shadow.reported.state))).toBe(desired(shadow));
  const { desired: part } = shadow;
  expect(write(metadataOf(part.state, part.stamps))).toContain('"__proto__":{"polluted":{"timestamp"');
  expect(desired(after(text, '{"desired":{"__proto__":null,"constructor":null}}'))).toBe('{"toString":2}');
});

test.each([
  ['', 'The document is not JSON.'],
  ['{', 'The document is not JSON.'],
  ['{"desired":{"a":01}}', 'The document is not JSON.'],
  ['[1]', 'The document must be a JSON object.'],
  ['null', 'The document must be a JSON object.'],
  ['{}', 'The update has neither desired nor reported.'],
  ['{"state":[]}', 'state must be an object with desired, reported, or both.'],
  ['{"desired":5}', 'desired must be an object, or null to remove it.'],
  ['{"desired":{},"wanted":{}}', 'A state has desired and reported, not "wanted".'],
  ['{"desired":{"$version":3}}', '$version is written by the gateway. Leave it out of desired.'],
  ['{"desired":{},"version":1.5}', 'version must be a whole number.'],
  ['{"desired":{},"version":"1"}', 'version must be a whole number.'],
  [`{"desired":{},"clientToken":"${'x'.repeat(65)}"}`, 'clientToken must be text of at most 64 bytes.'],
  ['{"desired":{"":1}}', 'A key must have 1 to 1024 bytes and no control characters. This one has not: "".'],
  ['{"reported":{"a\\u0000":1}}', /^A key must have 1 to 1024 bytes/],
  [`{"desired":${'{"a":'.repeat(9)}1${'}'.repeat(10)}`, 'The document has more than 8 levels.'],
  [`{"desired":${'['.repeat(100000)}${']'.repeat(100000)}}`, /levels|must be an object/]
])('refuses bad document %# with a sentence', (text, sentence) => {
  expect(() => readUpdate(text, null, 8)).toThrow(sentence);
});

test('allows as many levels as the limit says', () => {
  expect(() => readUpdate(`{"desired":${'{"a":'.repeat(8)}1${'}'.repeat(9)}`, null, 8)).not.toThrow();
});

test('merges random patches as a simple model does, and a device that reports the delta has no other one', () => {
  const random = seeded(1);
  const value = (levels) => {
    const kind = random.integer(levels > 0 ? 5 : 3);
    if (kind === 0) return random.integer(3);
    if (kind === 1) return null;
    if (kind === 2) return [random.integer(2)];
    return Object.fromEntries(
      ['a', 'b', '__proto__'].slice(0, random.integer(4)).map((key) => [key, value(levels - 1)])
    );
  };
  const object = () => Object.fromEntries(['a', 'b', 'c'].map((key) => [key, value(2)]));
  // RFC 7396, and without empty objects.
  const model = (target, patch) => {
    const merged = new Map(target instanceof Map ? target : []);
    for (const [key, given] of Object.entries(patch)) {
      const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
      const next = isObject ? model(merged.get(key), given) : given;
      if (next === null || (next instanceof Map && next.size === 0)) merged.delete(key);
      else merged.set(key, next);
    }
    return merged;
  };
  const plain = (state) =>
    new Map(
      Object.keys(state).map((key) => {
        const each = state[key];
        return [key, typeof each === 'object' && !Array.isArray(each) ? plain(each) : each];
      })
    );
  let shadow = emptyShadow(0);
  let expected = new Map();
  for (let i = 0; i < 2000; i++) {
    const patch = object();
    shadow = update(shadow, { desired: parse(JSON.stringify(patch)) }, AT + i * 300);
    expected = model(expected, patch);
    expect(plain(shadow.desired.state)).toEqual(expected);
    if (i % 5 === 0) shadow = update(shadow, { reported: parse(JSON.stringify(object())) }, AT);
    // As it is read from the disk.
    const { desired: part } = shadow;
    const stored = { ...part, stamps: parse(write(compact(part.stamps))) };
    expect(write(metadataOf(part.state, stored.stamps))).toBe(write(metadataOf(part.state, part.stamps)));
    shadow = { ...shadow, desired: stored };
    const delta = deltaOf(shadow.desired.state, shadow.reported.state);
    const reported = update(shadow, { reported: delta }, AT);
    expect(write(deltaOf(reported.desired.state, reported.reported.state))).toBe('{}');
  }
});
