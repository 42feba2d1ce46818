'use strict';
// Output that no setting may cause.

const { SECRET } = require('./values');

/** Traces of a fault of the gateway, not of the user. */
const FAULTS = [
  [/^\s+at .*:\d+:\d+\)?$/m, 'a stack trace'],
  [/uncaught|unhandled/i, 'an uncaught exception'],
  [
    /Cannot read propert|is not a function|is not iterable|Cannot destructure|Cannot convert/,
    "JavaScript's own words"
  ],
  [/\[object Object\]/, 'an object where a value should be'],
  [/The handler of the Node-RED event .* failed \(/, 'a listener that threw'],
  [/AddressSanitizer|SIGSEGV|FATAL ERROR/, 'a crash']
];

/**
 * @param {string} output
 * @param {string} entered the settings' own text, which may be repeated
 * @returns {string[]} its problems
 */
function faultsOf(output, entered) {
  const found = FAULTS.flatMap(([pattern, what]) => {
    const match = /** @type {RegExp} */ (pattern).exec(output);
    return match && !entered.includes(match[0].trim()) ? [`${what}: ${match[0].slice(0, 200)}`] : [];
  });
  const line = output.split('\n').find((each) => each.includes(SECRET));
  if (line) found.push(`a secret is repeated: ${line.slice(0, 300)}`);
  return found;
}

exports.faultsOf = faultsOf;
