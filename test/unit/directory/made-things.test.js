'use strict';

const { knownOf } = require('../../../nodes/lib/directory/made-things');

/** @param {object} facts @param {Record<string, object>} properties */
const row = (facts, properties) => ({
  facts: JSON.stringify(facts),
  td: JSON.stringify({ properties }),
  source: 'devices',
  seen: 500
});

const plain = { '@type': ['sosa:ObservableProperty'] };
const placed = { '@type': ['sosa:ObservableProperty', 'saref:Temperature'] };

test('takes the names that no rule made from a file of an older version', () => {
  expect(knownOf(row({}, { t: plain, temperature: placed }), 'devices', 0)).toEqual([['t', 500]]);
  expect(knownOf(row({}, { t: plain }), 'another source', 0)).toEqual([]);
});

test('forgets names that were known before the time', () => {
  const known = [
    ['t', 0],
    ['h', 100]
  ];
  expect(knownOf(row({ known }, {}), 'devices', 200)).toEqual([['t', 500]]);
});
