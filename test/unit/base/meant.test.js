'use strict';

const { size } = require('../../../nodes/lib/base/cli/cli-output');
const { meant } = require('../../../nodes/lib/base/texts/meant');

test.each([
  ['stat', ' Did you mean status?'],
  ['chek', ' Did you mean check?'],
  ['backupp', ' Did you mean backup?'],
  ['st', ''],
  ['', ''],
  ['x'.repeat(100_000), '']
])('guesses the command of %p', (word, guess) => {
  expect(meant(word, ['start', 'status', 'check', 'backup'], 1)).toBe(guess);
});

test.each([
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1 << 20, '1.0 MiB'],
  [70.2 * 2 ** 30, '70.2 GiB']
])('shows %d bytes as %s', (bytes, shown) => expect(size(bytes)).toBe(shown));
