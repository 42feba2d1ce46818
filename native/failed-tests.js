'use strict';

/** More failures than these are no matter of a deadline. */
const MOST_REPEATED = 3;

/**
 * Names the tests of the core that may be repeated: they failed, and nothing else was found.
 * @param {{ stdout?: string, stderr?: string }} output of GoogleTest
 * @returns {string[]} empty if the run ended early, a sanitizer reported something, or many tests failed
 */
function failedTests({ stdout = '', stderr = '' }) {
  if (/Sanitizer|runtime error:/.test(stderr) || !/^\[=+\] \d+ tests? from .* ran\./m.test(stdout)) return [];
  const names = new Set(
    [...stdout.matchAll(/^\[ {2}FAILED {2}\] ([\w/]+\.[\w/]+)/gm)].map(([, name]) => name)
  );
  return names.size <= MOST_REPEATED ? [...names] : [];
}

/**
 * The same of Go's packages.
 * @param {string} stdout of `go test`
 * @returns {string[]} empty if there is a data race, something does not compile, or many packages failed
 */
function failedPackages(stdout) {
  if (/WARNING: DATA RACE|\[(build|setup) failed\]/.test(stdout)) return [];
  const names = [...stdout.matchAll(/^FAIL\t(\S+)\t[\d.]+s$/gm)].map(([, name]) => name);
  return names.length <= MOST_REPEATED ? names : [];
}

module.exports = { failedPackages, failedTests };
