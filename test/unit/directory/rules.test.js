'use strict';

const { captures, parseRules, placeOf } = require('../../../nodes/lib/directory/rules');
const { makeThing } = require('../../../nodes/lib/directory/make-thing');
const { problemsOf } = require('../../../nodes/lib/directory/check-thing');
const { factsOf } = require('../../../nodes/lib/directory/facts');

const base = { gateway: 'gw 1', path: '/seganet/directory/n/', isSecured: false };

test('takes what the stars of a pattern stand for', () => {
  expect(captures('th-*', 'th-105')).toEqual(['105']);
  expect(captures('*-*', 'a-b-c')).toEqual(['a', 'b-c']);
  expect(captures('b?-*/t*', 'b1-20/t3')).toEqual(['20', '3']);
  expect(captures('a**b', 'axb')).toEqual(['', 'x']);
  expect(captures('plain', 'plain')).toEqual([]);
});

test('says what a device is and where, by the first rule that matches', () => {
  const rules = parseRules(
    JSON.stringify([
      { device: 'th-*', type: 'saref:TemperatureSensor', room: '{1}', title: 'Thermometer {device}' },
      { device: '*', room: 'lobby', ask: { command: 'get' } }
    ])
  );
  expect(placeOf(rules, 'th-105')).toEqual({
    types: ['saref:TemperatureSensor'],
    room: '105',
    title: 'Thermometer th-105',
    ask: null
  });
  expect(placeOf(rules, 'x')).toMatchObject({ room: 'lobby', ask: { command: 'get', payload: '' } });
  expect(placeOf([], 'x')).toBeNull();
});

test.each([
  ['{', /must be JSON/],
  ['{}', /must be a list/],
  ['[5]', /Rule 1 must be an object/],
  ['[{"room":"1"}]', /has no device/],
  ['[{"device":"a","rom":"1"}]', /unknown key "rom"/],
  ['[{"device":"a","room":"{1}"}]', /unknown placeholder \{1\}/],
  ['[{"device":"a*","room":"{2}"}]', /unknown placeholder \{2\}/],
  ['[{"device":"a","room":[]}]', /room of Rule 1 must be text/],
  ['[{"device":"a","type":[5]}]', /type of Rule 1/],
  ['[{"device":"a","ask":{}}]', /ask of Rule 1 must be/],
  ['[{"device":"a","ask":{"command":"a/#"}}]', /without \+, # and NUL/],
  ['[{"device":"a","ask":{"url":"http://x"}}]', /must begin with coap/],
  ['[{"device":"a","write":"a..b"}]', /write of Rule 1 must be a key/],
  ['[{"device":"a","write":"a.b.c.d.e.f.g.h.i"}]', /at most 8 levels/],
  [JSON.stringify(Array(1001).fill({ device: 'a' })), /1000 rules/]
])('refuses the rules %s', (text, reason) => expect(() => parseRules(text)).toThrow(reason));

test('makes the value of a rule with a key of the shadow writable, and no other', () => {
  const rule = (more) => placeOf(parseRules(JSON.stringify([{ device: 'pump-*', ...more }])), 'pump-7');
  const affordances = (placed, resources) => {
    const { td } = makeThing(base, { device: 'pump-7', protocol: 'mqtt', resources, placed });
    expect(problemsOf(td)).toEqual([]);
    return {
      ops: Object.entries(td.properties).map(([name, { forms }]) => [name, ...forms.map(({ op }) => op)]),
      desired: factsOf(td).properties.map(({ desired }) => desired),
      td
    };
  };
  const [rate, level] = ['rate', 'level'].map((name) => ({ name, types: [] }));
  const both = [
    ['rate', 'readproperty', 'writeproperty'],
    ['level', 'readproperty']
  ];
  // The value has this name, the property is of this kind, and the device has sent nothing yet.
  expect(affordances(rule({ value: 'rate', write: 'limits.rate' }), [level, rate])).toMatchObject({
    ops: both,
    desired: ['limits.rate', ''],
    td: { properties: { rate: { type: 'object', required: ['value'] }, level: { readOnly: true } } }
  });
  const kind = { property: 'saref:Rate', unit: 'm3/h', write: 'rate' };
  expect(affordances(rule(kind), [level, rate])).toMatchObject({ ops: both, desired: ['rate', ''] });
  expect(affordances(rule({ value: 'rate', write: 'rate' }), []).ops).toEqual([both[0]]);
  expect(affordances(rule({ write: 'rate' }), [level]).desired).toEqual(['rate']);
  // It is not known which.
  expect(affordances(rule({ write: 'rate' }), [level, rate]).desired).toEqual(['', '']);
  // What is desired does not reach a resource of OCF.
  const ofOcf = { ...rate, url: 'ocf://di/rate' };
  expect(affordances(rule({ value: 'rate', write: 'rate' }), [ofOcf]).desired).toEqual(['']);
});

test('makes a valid thing of a device, with room, type, unit and command', () => {
  const placed = placeOf(
    parseRules(
      '[{"device":"th-*","type":"saref:TemperatureSensor","room":"{1}","floor":"1","building":"A","unit":"°C","ask":{"command":"get"}}]'
    ),
    'th-105'
  );
  const { id, td } = makeThing(base, {
    device: 'th-105',
    protocol: 'mqtt',
    resources: [
      { name: 'battery', types: [] },
      { name: 'temperature', types: [] }
    ],
    placed
  });
  expect(problemsOf(td)).toEqual([]);
  expect(id).toBe('urn:seganet:gw%201:device:th-105');
  expect(factsOf(td)).toMatchObject({ device: 'th-105', rooms: ['105'], room: '105' });
  const temperature = factsOf(td).properties.find(({ name }) => name === 'temperature');
  expect(temperature).toMatchObject({ unit: '°C', kind: 'saref:Temperature', command: 'cmd/th-105/get' });
  expect(Object.keys(td.properties)).toEqual(['temperature', 'battery']);
});

test('makes valid things of odd devices', () => {
  for (const device of ['\u0000', 'a b/c', '"<>', '\ud800', 'ü'.repeat(100), '__proto__']) {
    const { id, td } = makeThing(base, {
      device,
      protocol: 'mqtt',
      resources: [
        { name: '__proto__', types: [] },
        { name: 'a b', types: [] }
      ],
      placed: null
    });
    expect([device, problemsOf({ ...td, id })]).toEqual([device, []]);
  }
});
