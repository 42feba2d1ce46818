'use strict';

const { QuietSeconds } = require('../../../../nodes/lib/base/timing/quiet-seconds');

/**
 * @param {QuietSeconds} quiet @param {number} seconds @param {() => unknown} look
 * @returns {string} a letter for the duty of each second
 */
function duties(quiet, seconds, look) {
  return Array.from({ length: seconds }, () => quiet.next(look)[0]).join('');
}

test('leaves work out after three seconds without a change, looks each third second and works each ninth', () => {
  const look = jest.fn(() => 7);
  expect(duties(new QuietSeconds(), 24, look)).toBe('wwwwlrrlrrlrrwrrlrrlrrwr');
  expect(look).toHaveBeenCalledTimes(11);
});

test('works in the second of a look that finds a change, and in the next ones', () => {
  const quiet = new QuietSeconds();
  duties(quiet, 8, () => 7);
  expect(duties(quiet, 8, () => 8)).toBe('rrwwwwlr');
});

test('does not wait for a look after a stir', () => {
  const quiet = new QuietSeconds();
  duties(quiet, 9, () => 7);
  quiet.stir();
  expect(duties(quiet, 5, () => 7)).toBe('wwwlr');
});

test('skips no work while the look returns NaN', () => {
  expect(duties(new QuietSeconds(), 12, () => NaN)).toBe('w'.repeat(12));
});
