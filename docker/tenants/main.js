#!/usr/bin/env node
'use strict';

const { main } = require('./lib/cli');
const { version } = require('./package.json');

const surroundings = {
  version,
  out: (/** @type {string} */ text) => void process.stdout.write(text),
  err: (/** @type {string} */ text) => void process.stderr.write(text)
};
// The reader may close the pipe early, as in `seganet-tenants list | head`.
process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
  if (error.code !== 'EPIPE') throw error;
});
main(process.argv.slice(2), process.env, surroundings).then((code) => {
  process.exitCode = code;
});
