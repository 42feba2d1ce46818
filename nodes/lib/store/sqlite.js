'use strict';

// Node.js 22 and 24 print a warning that node:sqlite is experimental, once for each thread that loads it, on the user's
// console. The features used here are tested with each supported Node.js version, so this warning alone is suppressed,
// in this thread only.

const { emitWarning } = process;
process.emitWarning = () => {};
try {
  module.exports = require('node:sqlite');
} finally {
  process.emitWarning = emitWarning;
}
