'use strict';
// Runs the keeper as long as the process that started this one: standard input closes when that one is gone, even after
// kill -9. A keeper without it would keep its tenants running for ever.

const { spawn } = require('node:child_process');

const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['ignore', 'inherit', 'inherit'] });
const end = () => void child.kill('SIGTERM');
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, end);
process.stdin.on('end', end).on('error', end).resume();
child.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
child.once('exit', (code) => process.exit(code ?? 1));
