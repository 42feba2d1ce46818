'use strict';

const { Overlaps, isOvertaken, mayBeOld, renew } = require('../../../nodes/lib/shadow/overlaps');

test('a read may be old if a change of the same device was answered meanwhile', () => {
  const overlaps = new Overlaps();
  const [a, b] = [overlaps.enter('a', true), overlaps.enter('b', true)];
  overlaps.leave(overlaps.enter('a', false), 5);
  expect([a, b].map(mayBeOld)).toEqual([true, false]);
  renew(a);
  expect(mayBeOld(a)).toBe(false);
  expect(mayBeOld(overlaps.enter('a', true))).toBe(false);
});

test('a change is overtaken if a read has answered its version or a later one', () => {
  const overlaps = new Overlaps();
  const changes = ['a', 'a', 'a', 'b'].map((device) => overlaps.enter(device, false));
  overlaps.leave(overlaps.enter('a', true), 6);
  overlaps.leave(overlaps.enter('a', true), 5);
  expect(changes.map((each, i) => isOvertaken(each, 5 + i))).toEqual([true, true, false, false]);
});

test('keeps nothing for a device without open requests', () => {
  const overlaps = new Overlaps();
  const spans = ['a', 'a', 'b'].map((device, i) => overlaps.enter(device, i === 0));
  expect(overlaps.size).toBe(2);
  for (const span of spans) overlaps.leave(span, 9);
  expect(overlaps.size).toBe(0);
  expect(isOvertaken(overlaps.enter('a', false), 1)).toBe(false);
});
