'use strict';

const { QuietSeconds } = require('../../../nodes/lib/base/quiet-seconds');

/** @param {QuietSeconds} quiet @param {unknown} activity @param {number} seconds */
function worked(quiet, activity, seconds) {
  return Array.from({ length: seconds }, () => !quiet.skips(activity));
}

test('leaves work out after three seconds without a change, and then does it each tenth second', () => {
  const quiet = new QuietSeconds();
  const seconds = worked(quiet, 7, 24);
  expect(seconds.flatMap((isDone, second) => (isDone ? [second] : []))).toEqual([0, 1, 2, 3, 13, 23]);
});

test('works in the second of a change, and in the next ones', () => {
  const quiet = new QuietSeconds();
  worked(quiet, 7, 9);
  expect(worked(quiet, 8, 5)).toEqual([true, true, true, true, false]);
  quiet.stir();
  expect(worked(quiet, 8, 4)).toEqual([true, true, true, false]);
});
