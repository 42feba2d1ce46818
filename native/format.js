'use strict';

// Checks the C++ sources against .clang-format. `--write` formats them.

const { spawnSync } = require('node:child_process');
const path = require('node:path');

const root = path.resolve(__dirname, '..');
const listed = spawnSync('git', ['ls-files', '*.cc', '*.h'], { cwd: root, encoding: 'utf8' });
const files = listed.stdout.split('\n').filter(Boolean);
const mode = process.argv.includes('--write') ? ['-i'] : ['--dry-run', '-Werror'];
const done = spawnSync('clang-format', [...mode, ...files], { cwd: root, stdio: 'inherit' });
if (done.error) {
  console.error(`clang-format: ${done.error.message} (Debian: apt-get install clang-format)`);
  process.exit(1);
}
process.exit(done.status ?? 1);
