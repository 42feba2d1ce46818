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

describe('while each look finds a change', () => {
  let count = 0;
  const look = () => ++count;

  test('works each third second from the fourth on if the load is light', () => {
    expect(duties(new QuietSeconds(), 16, look)).toBe('w'.repeat(16));
    const quiet = new QuietSeconds();
    const letters = Array.from({ length: 16 }, () => quiet.next(look, () => true)[0]).join('');
    expect(letters).toBe('wwwwrrwrrwrrwrrw');
  });

  test('works each second again as soon as the load is no longer light', () => {
    const quiet = new QuietSeconds();
    let isLight = true;
    for (let second = 0; second < 8; second++) quiet.next(look, () => isLight);
    isLight = false;
    expect(Array.from({ length: 6 }, () => quiet.next(look, () => isLight)[0]).join('')).toBe('rwwwww');
  });

  test('skips no work under a light load if something waits for the next second', () => {
    const quiet = new QuietSeconds();
    const letters = Array.from({ length: 12 }, () =>
      quiet.next(
        () => NaN,
        () => true
      )
    );
    expect(new Set(letters)).toEqual(new Set(['work']));
  });

  test('only looks when the changes end', () => {
    const quiet = new QuietSeconds();
    for (let second = 0; second < 7; second++) quiet.next(look, () => true);
    expect(
      Array.from(
        { length: 6 },
        () =>
          quiet.next(
            () => count,
            () => true
          )[0]
      ).join('')
    ).toBe('rrlrrw');
  });
});
