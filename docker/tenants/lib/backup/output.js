'use strict';

/** Characters of a program's output that are kept. */
const MAX_OUTPUT = 4096;
const LINES = 3;
const MAX_LINE = 300;

/** @param {string} output @returns {string} its last lines as the end of a sentence, '' = there are none */
function lastOf(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return '';
  const last = lines.slice(-LINES).map((line) => line.slice(0, MAX_LINE));
  return `; its last output: ${last.join(' | ')}`;
}

module.exports = { MAX_OUTPUT, lastOf };
