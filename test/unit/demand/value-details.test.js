'use strict';

const { addShown } = require('../../../nodes/lib/demand/value-details');

const limits = { minEveryMs: 200, maxForS: 3600, maxOfUser: 1, maxOfDevice: 1 };
const demand = {
  limitsOf: (/** @type {string} */ device) => (device === 'strange' ? null : limits),
  view: (/** @type {string} */ device) =>
    device === 'asked'
      ? /** @type {const} */ ({
          device,
          state: 'silent',
          by: 'command',
          everyMs: 250,
          endsAt: 7,
          askers: ['ann', 'bob'],
          reason: 'no answer'
        })
      : null
};

test('a row has what is asked of its device, and what may be asked', () => {
  const rows = [{ device: 'asked' }, { device: 'idle' }, { device: 'strange' }];
  addShown(demand, rows);
  const may = { leastMs: 200, mostS: 3600 };
  expect(rows).toEqual([
    {
      device: 'asked',
      demand: { state: 'silent', everyMs: 250, endsAt: 7, askers: 2, reason: 'no answer', ...may }
    },
    { device: 'idle', demand: { state: 'normal', everyMs: 0, endsAt: 0, askers: 0, reason: '', ...may } },
    { device: 'strange' }
  ]);
});

test('an engine without questions adds nothing', () => {
  const rows = [{ device: 'idle' }];
  addShown(undefined, rows);
  expect(rows).toEqual([{ device: 'idle' }]);
});
