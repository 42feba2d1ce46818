'use strict';
// The process of seganet-tenants: its output, and its exit code.

const { main: run } = require('./cli');

/** The output of the keeper is a log. */
const isKeeper = process.argv[2] === 'run';

/** @param {string} version of the package */
function main(version) {
  const surroundings = {
    version,
    out: (/** @type {string} */ text) => void process.stdout.write(text),
    err: (/** @type {string} */ text) => void process.stderr.write(text)
  };
  let code = 0;
  let isCutOff = false;
  // The reader may close the pipe early, as in `seganet-tenants list | head`. If the output cannot be written for
  // another reason, such as a full disk, the keeper continues, and its exit code does not depend on it. The other
  // commands end with the exit code 1.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (isKeeper || error.code === 'EPIPE') return;
      isCutOff = true;
      process.exitCode = code || 1;
    });
  run(process.argv.slice(2), process.env, surroundings).then((ended) => {
    code = ended;
    process.exitCode = code || (isCutOff ? 1 : 0);
  });
}

module.exports = { main };
