#!/usr/bin/env node
'use strict';

const { main } = require('./lib/cli');
const { version } = require('./package.json');

const surroundings = {
  version,
  out: (/** @type {string} */ text) => void process.stdout.write(text),
  err: (/** @type {string} */ text) => void process.stderr.write(text)
};
let code = 0;
let isCutOff = false;
// The reader may close the pipe early, as in `seganet-tenants list | head`. A log on a full disk, or whose reader has
// ended, must not end the keeper; the other commands then end with a code.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code === 'EPIPE') return;
    isCutOff = true;
    process.exitCode = code || 1;
  });
main(process.argv.slice(2), process.env, surroundings).then((ended) => {
  code = ended;
  process.exitCode = code || (isCutOff ? 1 : 0);
});
