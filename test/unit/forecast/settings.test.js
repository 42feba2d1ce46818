'use strict';
// Settings and status of a forecast node.

const { parseForecast, schema } = require('../../../nodes/lib/forecast/settings');
const { shownOf } = require('../../../nodes/lib/forecast/status');
const { parseOptions } = require('../../../nodes/lib/base/options');

const parse = (config = {}) => {
  const { values, problems } = parseOptions(config, schema);
  if (problems.length > 0) throw new RangeError(problems.join(' '));
  return parseForecast(values);
};

test('are a day of hours by default', () => {
  expect(parse({ anomalyClass: '1' })).toEqual({
    model: 'holtWinters',
    path: '$',
    periodS: 86400,
    slots: 24,
    sigmas: 4,
    least: 0,
    forecastClass: 1,
    annotate: false,
    maxSeries: 10000
  });
  expect(parse({ anomalyClass: '' }).forecastClass).toBe(0);
});

test.each([
  [{ path: 'a.' }, /The value "a\." is not a path \(column 3: expected a name/],
  [{ model: 'arima' }, /"model" must be one of holtWinters, seasonalNaive, not "arima"/],
  [
    { periodS: '20' },
    /A season of 20 s cannot have 24 slots: a slot takes a second at least\. Choose fewer slots\./
  ],
  [{ slots: '1' }, /"slots" must be a whole number from 2 to 1024/],
  [{ sigmas: '0' }, /"sigmas" must be a number from 1 to 100/],
  [{ least: '-1' }, /"least" must be a number from 0/],
  [{ maxSeries: '0' }, /"maxSeries" must be a whole number from 1 to 1000000/],
  [{ anomalyClass: '9' }, /"anomalyClass" must be a class/],
  [
    { maxSeries: '1000000', slots: '1024' },
    /1000000 series of 1024 slots need 3978 MiB; a forecast node may use 256 MiB\. Choose fewer/
  ]
])('%j is a sentence with a remedy', (config, sentence) => {
  expect(() => parse(config)).toThrow(sentence);
});

test('the engine accepts the largest that the node does', () => {
  const { Engine } = require('../../../native');
  const engine = new Engine({ workers: 1 }, () => {});
  const plan = (/** @type {object} */ config) => ({
    stages: [{ id: 1, kind: 'forecast', next: [], messages: true, ...parse(config) }]
  });
  try {
    for (const slots of [2, 24, 168, 1024]) {
      const most = Math.min(1000000, Math.floor((256 * 2 ** 20) / (75 + 4 * slots)));
      engine.applyPlan(plan({ maxSeries: most, slots, periodS: 31622400 }));
      if (most < 1000000) expect(() => parse({ maxSeries: most + 1, slots })).toThrow(/MiB/);
    }
  } finally {
    engine.close();
  }
});

describe('the status', () => {
  const counters = {
    points: 10,
    untrusted: 4,
    anomalies: 0,
    late: 0,
    refused: 0,
    skipped: 0,
    series: 2,
    bytes: 1,
    begun: true
  };
  const shown = (
    /** @type {object} */ change,
    rates = { recordsIn: 5, copiesDropped: 0 },
    progress = /** @type {{ done: number, of: number } | null} */ (null)
  ) =>
    shownOf(2, () => progress)(
      rates,
      { stages: [{ id: 7, forecast: { ...counters, ...change } }] },
      { stage: 7, carriage: () => ' · native' }
    );

  test.each([
    [{}, 'green', '5/s · 2 series · native'],
    [{ untrusted: 10 }, 'green', '5/s · 2 series · learning · native'],
    [{ anomalies: 3 }, 'green', '5/s · 2 series · 3 anomalies · native'],
    [{ refused: 1 }, 'yellow', 'more than 2 series'],
    [{ refused: 1, series: 1 }, 'green', '5/s · 1 series · native'],
    [{ begun: false }, 'yellow', 'reading what it had learned']
  ])('of %j is %s "%s"', (change, fill, text) => {
    expect(shown(change)).toMatchObject({ fill, text });
  });

  test('shows how much of the history is learned until the stage begins', () => {
    const progress = { done: 3, of: 20 };
    expect(shown({ begun: false }, undefined, progress)).toMatchObject({
      fill: 'yellow',
      text: 'learning from 3 of 20 series'
    });
    expect(shown({}, undefined, progress).text).toBe('5/s · 2 series · native');
  });

  test('shows copies that were dropped before all else, and a stage that is not there', () => {
    expect(shown({ refused: 1 }, { recordsIn: 5, copiesDropped: 2 }).text).toBe('2/s copies dropped');
    expect(
      shownOf(2)({ recordsIn: 0, copiesDropped: 0 }, { stages: [] }, { stage: 7, carriage: () => '' })
    ).toEqual({
      fill: 'grey',
      shape: 'dot',
      text: '0/s'
    });
  });
});
