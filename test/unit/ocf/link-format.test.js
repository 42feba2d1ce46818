'use strict';
// Link format (RFC 6690): known links, malformed ones, and random ones.

const {
  LIMITS,
  LinkFormatError,
  hasAttribute,
  parseLinks,
  writeLinks
} = require('../../../nodes/lib/ocf/cloud/link-format');
const { seeded } = require('../../fixtures/random');

const seed = Number(process.env.SEGANET_SEED ?? 1);
const parse = (/** @type {string} */ text) => parseLinks(Buffer.from(text));

test('reads the examples of RFC 6690', () => {
  expect(
    parse('</sensors>;ct=40;title="Sensor Index",</sensors/temp>;rt="temperature-c";if="sensor"')
  ).toEqual([
    {
      target: '/sensors',
      attributes: [
        ['ct', '40'],
        ['title', 'Sensor Index']
      ]
    },
    {
      target: '/sensors/temp',
      attributes: [
        ['rt', 'temperature-c'],
        ['if', 'sensor']
      ]
    }
  ]);
  expect(parse('<http://www.example.com/sensors/t123>;anchor="/sensors/temp";rel="describedby"')[0]).toEqual({
    target: 'http://www.example.com/sensors/t123',
    attributes: [
      ['anchor', '/sensors/temp'],
      ['rel', 'describedby']
    ]
  });
  expect(parse('</a>;obs, </b> ; sz=100')).toHaveLength(2);
  expect(parse('</firmware/v2.1>;rt="firmware";sz=262144')[0].attributes[1]).toEqual(['sz', '262144']);
  expect(parse('</x>;title*=UTF-8\'\'%e2%82%ac;t="a\\"b\\\\c,;<d>"')[0].attributes).toEqual([
    ['title*', "UTF-8''%e2%82%ac"],
    ['t', 'a"b\\c,;<d>']
  ]);
  expect(parse('')).toEqual([]);
});

test.each([
  ['no target', ';rt="x"'],
  ['an open target', '</a'],
  ['an empty element', '</a>,'],
  ['two commas', '</a>,,</b>'],
  ['no comma', '</a></b>'],
  ['an open text', '</a>;rt="x'],
  ['an escape at the end', '</a>;rt="x\\'],
  ['no value', '</a>;rt='],
  ['no name', '</a>;="x"'],
  ['NUL in a text', '</a>;rt="\0"'],
  ['a space in a target', '</a b>'],
  ['a line feed in a target', '</a\n>'],
  ['bytes after the end', '</a> x']
])('refuses %s', (_what, text) => {
  expect(() => parse(text)).toThrow(LinkFormatError);
});

test('refuses what exceeds a limit, and what is not UTF-8', () => {
  const many = (/** @type {number} */ n, /** @type {(i: number) => string} */ each) =>
    Array.from({ length: n }, (_, i) => each(i));
  expect(parse(many(LIMITS.links, (i) => `</${i}>`).join(','))).toHaveLength(LIMITS.links);
  expect(() => parse(many(LIMITS.links + 1, (i) => `</${i}>`).join(','))).toThrow(/256 links/);
  expect(parse(`</a>${many(LIMITS.attributes, (i) => `;a${i}`).join('')}`)).toHaveLength(1);
  expect(() => parse(`</a>${many(LIMITS.attributes + 1, (i) => `;a${i}`).join('')}`)).toThrow(
    /32 attributes/
  );
  expect(() => parse(`</${'a'.repeat(LIMITS.targetBytes)}>`)).toThrow(/1024 bytes/);
  expect(() => parse(`</a>;t="${'a'.repeat(LIMITS.bytes)}"`)).toThrow(/65536 bytes/);
  expect(() => parseLinks(Buffer.from([0x3c, 0x2f, 0xff, 0x3e]))).toThrow(/UTF-8/);
});

test('finds values in lists, and beginnings', () => {
  const [{ attributes }] = parse('</a>;rt="one two";title="one two";obs');
  const fits = (/** @type {string} */ name, /** @type {string} */ value) =>
    hasAttribute(attributes, name, value);
  expect([fits('rt', 'two'), fits('rt', 't*'), fits('rt', 'one two'), fits('rt', 'th*')]).toEqual([
    true,
    true,
    false,
    false
  ]);
  expect([fits('title', 'one two'), fits('title', 'two'), fits('title', 'one*')]).toEqual([
    true,
    false,
    true
  ]);
  expect([fits('obs', ''), fits('obs', 'x'), fits('sz', '*')]).toEqual([true, false, false]);
});

test(`reads what it wrote, and survives broken bytes (seed ${seed})`, () => {
  const { integer: random } = seeded(seed);
  const alphabet = ['a', 'Z', '0', '"', '\\', ',', ';', '<', '>', ' ', '=', 'ä', '€', '😀', '*', '/', '.'];
  const text = (/** @type {string[]} */ from) =>
    Array.from({ length: random(12) }, () => from[random(from.length)]).join('');
  for (let round = 0; round < 2000; round++) {
    const links = Array.from({ length: random(4) }, () => ({
      target: `/${text(alphabet.filter((each) => !'"<> '.includes(each)))}`,
      attributes: Array.from({ length: random(4) }, () => [
        `n${random(9)}`,
        random(3) === 0 ? null : text(alphabet)
      ])
    }));
    const bytes = Buffer.from(writeLinks(/** @type {any} */ (links)));
    expect(parseLinks(bytes)).toEqual(links);
    if (bytes.length === 0) continue;
    const broken = Buffer.from(bytes);
    broken[random(broken.length)] = random(256);
    for (const each of [broken, bytes.subarray(0, random(bytes.length))]) {
      try {
        const again = parseLinks(each);
        expect(parseLinks(Buffer.from(writeLinks(again)))).toEqual(again);
      } catch (error) {
        if (!(error instanceof LinkFormatError)) throw error;
      }
    }
  }
});
