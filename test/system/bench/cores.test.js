'use strict';
// bench/questions/cores.js in short: a whole engine under the load of its own process.

const { execFileSync, spawnSync } = require('node:child_process');
const path = require('node:path');
const { layouts, lineRows } = require('../../../bench/cores/lines');
const { root } = require('../../../bench/harness/gateway');
const { allowedCores } = require('../../../bench/harness/proc');
const { needs } = require('../../../bench/harness/tools');

const command = path.join(root, 'bench', 'questions', 'cores.js');
const { test: withLibraries } = needs('c++', '/usr/include/uv.h', '/usr/include/sqlite3.h');
const { test: withTaskset } = needs('taskset');
const { test: withClang } = needs('clang++');

jest.setTimeout(600000);

test('prints its options', () => {
  const text = execFileSync(process.execPath, [command, '--help'], { encoding: 'utf8' });
  expect(text).toContain('node native/node/run.js bench/questions/cores.js [options]');
});

withTaskset('refuses more workers than cores, before it builds anything', () => {
  const one = ['-c', String(allowedCores()[0]), process.execPath, command, '--cores', '1,2'];
  const { status, stderr } = spawnSync('taskset', one, { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toContain('--cores: 2 workers need 2 cores, and this process may use 1.');
});

withLibraries('measures one worker, with the log and without, and loses no record', () => {
  const args = [command, '--cores', '1', '--seconds', '0.5', '--repeat', '1', '--no-lines'];
  const text = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore']
  });
  const [without, withLog] = text.split('## ').slice(1);
  expect(without).toMatch(/^Without a log\n[^]*\| 1 \| [\d,]+ \| \d+\.\d\d \| \d+\.\d\d \| – \| \d+\.\d\d/);
  expect(withLog).toMatch(
    /^With the log on disk\n[^]*\| 1 \| [\d,]+ \| \d+\.\d\d \| \d+\.\d\d \| \d+\.\d\d \|/
  );
  expect(text).toMatch(/\| 1 \| store \| \d+\.\d\d \| \d+\.\d\d \| /);
});

withClang(
  'knows the members that several threads write, and keeps the number of batches on a line of its own',
  () => {
    const rows = lineRows(/** @type {string} */ (layouts()));
    expect(rows.find(([member]) => member === '`Engine::sequence_`')?.[3]).toBe('none');
  }
);
