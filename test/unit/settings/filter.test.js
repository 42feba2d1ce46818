'use strict';

const { parseOptions } = require('../../../nodes/lib/base/options');
const { schema, parseFilter } = require('../../../nodes/lib/settings/filter');

/** @param {object} config */
function parse(config) {
  const { values, problems } = parseOptions(config, schema);
  if (problems.length > 0) throw new RangeError(problems.join(' '));
  return parseFilter(values);
}

test.each([
  [
    { mode: 'pass', when: ' a > 1 ', band: '7' },
    { mode: 'pass', when: 'a > 1' }
  ],
  [
    { mode: 'block', when: 'a > 1' },
    { mode: 'block', when: 'a > 1' }
  ],
  [{ mode: 'change' }, { mode: 'change', path: '$', band: 0, percent: false, everyS: 0 }],
  [
    { mode: 'change', path: 't', band: '0.5', bandUnit: 'percent', everyS: '60' },
    { mode: 'change', path: 't', band: 0.5, percent: true, everyS: 60 }
  ],
  [{ mode: 'rate' }, { mode: 'rate', records: 1, periodS: 60 }],
  [
    { mode: 'range', path: '$.t', low: '-1e1' },
    { mode: 'range', path: '$.t', low: -10, high: Infinity }
  ],
  [
    { mode: 'window', values: " temp , $[\"a,b\"].c,$['x,\\'y'] " },
    {
      mode: 'window',
      values: ['temp', '$["a,b"].c', "$['x,\\'y']"],
      aggregates: ['first', 'last', 'min', 'max', 'mean', 'sum', 'count'],
      windowS: 60,
      windowRecords: 0,
      aligned: false,
      windowClass: 0,
      hold: false
    }
  ],
  [
    {
      mode: 'window',
      values: '$',
      aggregates: 'mean, min max',
      windowS: '5',
      windowRecords: '9',
      windowStart: 'clock',
      windowClass: 'high',
      acknowledge: 'withWindow'
    },
    {
      mode: 'window',
      values: ['$'],
      aggregates: ['min', 'max', 'mean'],
      windowS: 5,
      windowRecords: 9,
      aligned: true,
      windowClass: 2,
      hold: true
    }
  ]
])('reads %j', (config, settings) => expect(parse(config)).toEqual(settings));

test.each([
  [{ mode: 'some' }, /must be one of pass, block/],
  [{ mode: 'pass' }, /^The filter has no condition/],
  [{ mode: 'pass', when: 'a >' }, /^The condition "a >" is invalid \(column 4: expected a number/],
  [{ mode: 'change', path: 'a b' }, /^The value "a b" is not a path \(column 3/],
  [{ mode: 'change', band: '-1' }, /"band" must be a number from 0, not "-1"/],
  [{ mode: 'change', everyS: '86401' }, /"everyS" must be a whole number from 0 to 86400/],
  [{ mode: 'rate', records: '0' }, /"records" must be a whole number from 1/],
  [{ mode: 'range', low: 'x' }, /"low" must be a number, not "x"/],
  [{ mode: 'range', low: '2', high: '1' }, /^The range ends at 1, below its start at 2/],
  [{ mode: 'window' }, /^The window has no values/],
  [{ mode: 'window', values: ' , ,' }, /^The value "" is not a path/],
  [{ mode: 'window', values: 'a, b.' }, /^The value "b." is not a path \(column 3/],
  [{ mode: 'window', values: 'a,b,a' }, /^The window has the value "a" twice/],
  [{ mode: 'window', values: Array(17).fill('a').join() }, /^A window has at most 16 values, not 17/],
  [
    { mode: 'window', values: 'a', aggregates: 'min median' },
    /^"median" is not an aggregate. Choose from first/
  ],
  [{ mode: 'window', values: 'a', windowS: '0' }, /"windowS" must be a whole number from 1 to 86400/],
  [{ mode: 'window', values: 'a', windowRecords: '1000001' }, /"windowRecords" must be/],
  [{ mode: 'window', values: 'a', windowStart: 'noon' }, /must be one of record, clock/],
  [{ mode: 'window', values: 'a', windowClass: '9' }, /"windowClass" must be/],
  [{ mode: 'window', values: 'a', acknowledge: 'never' }, /must be one of atOnce, withWindow/]
])('refuses %j with a sentence', (config, sentence) => expect(() => parse(config)).toThrow(sentence));
