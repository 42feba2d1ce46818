'use strict';
// Which failures of the native tests and of the overlay's may be repeated in CI.

const { failedPackages, failedTests } = require('../../../native/failed-tests');

const END = '[==========] 813 tests from 201 test suites ran. (105836 ms total)\n[  PASSED  ] 811 tests.\n';
const failure = (/** @type {string} */ name, more = '') =>
  `/native/test/a_test.cc:174: Failure\nExpected equality of these values:\n[  FAILED  ] ${name}${more} (2423 ms)\n`;

describe('tests of the core', () => {
  test('that failed are named once, also those with a parameter', () => {
    const stdout =
      failure('EngineSlowing.PushAnswersFullByClass') +
      failure('WorkerReads/LateLineTest.AnAwaitedBatchEndsIt/0', ', where GetParam() = true') +
      `${END}[  FAILED  ] EngineSlowing.PushAnswersFullByClass\n`;
    expect(failedTests({ stdout, stderr: '' })).toEqual([
      'EngineSlowing.PushAnswersFullByClass',
      'WorkerReads/LateLineTest.AnAwaitedBatchEndsIt/0'
    ]);
  });

  test.each([
    ['when the run ended early', failure('A.B'), ''],
    ['when nothing ran', '', 'error while loading shared libraries'],
    ['when AddressSanitizer reports an error', failure('A.B') + END, '==1==ERROR: AddressSanitizer: leak'],
    ['when ThreadSanitizer reports a race', failure('A.B') + END, 'WARNING: ThreadSanitizer: data race'],
    ['when UBSan reports an error', failure('A.B') + END, 'a.cc:1:2: runtime error: shift exponent 64'],
    ['when four failed', ['a', 'b', 'c', 'd'].map((name) => failure(`A.${name}`)).join('') + END, '']
  ])('are not named %s', (_, stdout, stderr) => {
    expect(failedTests({ stdout, stderr })).toEqual([]);
  });
});

describe('packages of the overlay', () => {
  const ok = 'ok  \tseganet.internal/overlay/internal/bind\t9.1s\n';
  const fail = (/** @type {string} */ name) => `--- FAIL: TestX (1.00s)\nFAIL\nFAIL\t${name}\t11.532s\n`;

  test('that failed are named', () => {
    expect(failedPackages(`${ok}${fail('overlay/internal/paths')}FAIL\n`)).toEqual([
      'overlay/internal/paths'
    ]);
  });

  test.each([
    ['when there is a data race', `WARNING: DATA RACE\n${fail('a')}`],
    ['when something does not compile', `FAIL\tb [build failed]\n${fail('a')}`],
    ['when four failed', ['a', 'b', 'c', 'd'].map(fail).join('')],
    ['when all passed', ok]
  ])('are not named %s', (_, stdout) => {
    expect(failedPackages(stdout)).toEqual([]);
  });
});
