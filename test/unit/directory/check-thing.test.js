'use strict';

const { idProblem, problemsOf } = require('../../../nodes/lib/directory/check-thing');
const { applyPatch, patchOf } = require('../../../nodes/lib/directory/merge-patch');
const { thermometer, thing } = require('../../fixtures/directory/things');

const fields = (td) => problemsOf(td).map(({ field }) => field);
const without = (name) => Object.fromEntries(Object.entries(thing()).filter(([key]) => key !== name));
const deep = (levels) => (levels === 0 ? 1 : { a: deep(levels - 1) });

test.each([
  ['a thermometer', thermometer('urn:a', '1')],
  ['the smallest thing', thing()],
  ['a thing of TD 1.0', thing({ '@context': ['https://www.w3.org/2019/wot/td/v1'] })],
  ['a scheme of another vocabulary', thing({ securityDefinitions: { none: { scheme: 'ace:ACE' } } })]
])('accepts %s', (_name, td) => expect(problemsOf(td)).toEqual([]));

test.each([
  ['(root)', []],
  ['(root)', null],
  ['(root)', deep(40)],
  ['(root)', thing({ description: 'x'.repeat(70000) })],
  ['@context', without('@context')],
  ['@context', thing({ '@context': 'https://example.com' })],
  ['@context', thing({ '@context': [5] })],
  ['title', without('title')],
  ['title', thing({ title: 5 })],
  ['description', thing({ description: {} })],
  ['id', thing({ id: 'no scheme' })],
  ['security', without('security')],
  ['security', thing({ security: 'other' })],
  ['securityDefinitions', without('securityDefinitions')],
  ['securityDefinitions.none.scheme', thing({ securityDefinitions: { none: { scheme: 'magic' } } })],
  ['properties', thing({ properties: [] })],
  ['properties.a', thing({ properties: { a: 1 } })],
  ['properties.a.forms', thing({ properties: { a: {} } })],
  ['properties.a.forms', thing({ properties: { a: { forms: [] } } })],
  ['properties.a.forms[0].href', thing({ properties: { a: { forms: [{}] } } })],
  ['properties.a.type', thing({ properties: { a: { type: 'float', forms: [{ href: 'x' }] } } })],
  ['links', thing({ links: {} })],
  ['links[0].href', thing({ links: [{}] })],
  ['registration', thing({ registration: 1 })],
  ['registration.ttl', thing({ registration: { ttl: -1 } })],
  ['registration.expires', thing({ registration: { expires: 'tomorrow' } })]
])('names the field %s of a wrong thing', (field, td) => expect(fields(td)).toContain(field));

test.each(['', 'a', 'a b:c', 'urn:a b', 'urn:<x>', 'urn:\n', `urn:${'x'.repeat(600)}`, 5, null])(
  'refuses the id %p',
  (id) => expect(idProblem(id)).not.toBe('')
);

test('checks random input without an error of its own', () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const keys = [
    '@context',
    '@type',
    'id',
    'title',
    'properties',
    'forms',
    'href',
    'security',
    'registration'
  ];
  keys.push('securityDefinitions', 'links', '__proto__', 'constructor', 'ttl', '@id');
  const value = (depth) =>
    [
      () => random(100),
      () => null,
      () => 'x'.repeat(random(20)),
      () => true,
      () => Array.from({ length: random(4) }, () => value(depth - 1)),
      () =>
        Object.fromEntries(
          Array.from({ length: random(6) }, () => [keys[random(keys.length)], value(depth - 1)])
        )
    ][depth <= 0 ? random(4) : random(6)]();
  const { factsOf } = require('../../../nodes/lib/directory/facts');
  const { triplesOf } = require('../../../nodes/lib/directory/triples');
  for (let i = 0; i < 3000; i++) {
    const td = { ...thing(), ...Object(value(5)) };
    if (problemsOf(td).length > 0) continue;
    expect(factsOf(td).title).toBe(td.title);
    expect(triplesOf('urn:x', td, 't1')).toMatch(/^<urn:x> /);
  }
});

test('makes triples of members with the names of what every object inherits', () => {
  const { triplesOf } = require('../../../nodes/lib/directory/triples');
  const td = thing(JSON.parse('{"constructor":"a","toString":"b","__proto__":"c"}'));
  const text = triplesOf('urn:x', td, 't1');
  for (const [name, value] of [
    ['constructor', 'a'],
    ['toString', 'b']
  ])
    expect(text).toContain(`<urn:x> <https://www.w3.org/2019/wot/td#${name}> "${value}" .\n`);
  expect(text).not.toContain('function');
});

test('applies merge patches, and finds them again (RFC 7396)', () => {
  for (const [before, patch, after] of [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }]
  ]) {
    expect(applyPatch(before, patch)).toEqual(after);
    expect(applyPatch(before, patchOf(before, after))).toEqual(after);
  }
  expect(applyPatch({}, JSON.parse('{"__proto__":{"x":1}}')).x).toBeUndefined();
});
