'use strict';

const { SmallMap } = require('../../../nodes/lib/base/small-map');

test('is a map that has no entries at first', () => {
  /** @type {SmallMap<string, number>} */
  const map = new SmallMap();
  expect([map.size, map.get('a'), [...map.keys()], [...map.values()]]).toEqual([0, undefined, [], []]);
  map.delete('a');
  map.clear();
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect([map.size, map.get('a'), [...map.keys()], [...map.values()]]).toEqual([2, 3, ['a', 'b'], [3, 2]]);
});

test('has entries again after it was empty', () => {
  const [map, other] = [new SmallMap(), new SmallMap()];
  map.set('a', 1);
  map.delete('a');
  expect([map.size, [...map.keys()]]).toEqual([0, []]);
  map.set('b', 2);
  expect([map.get('b'), other.size]).toEqual([2, 0]);
  map.clear();
  expect([map.size, map.get('b')]).toEqual([0, undefined]);
});
