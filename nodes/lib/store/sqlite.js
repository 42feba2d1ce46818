'use strict';

// Node 22 and 24 call node:sqlite experimental, once for each thread that loads it, on the console of the user. What we
// rely on is tested here against the very Node that runs it, so that thread alone keeps quiet, and about this alone.

const { emitWarning } = process;
process.emitWarning = () => {};
try {
  module.exports = require('node:sqlite');
} finally {
  process.emitWarning = emitWarning;
}
