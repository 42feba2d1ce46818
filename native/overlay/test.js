'use strict';
// npm run test:overlay -- [--race] [--fuzz-seconds N]: checks the overlay program. See --help.

const fs = require('node:fs');
const { devNull } = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { FLAGS, FOLDER, goOutput, runGo, runScript } = require('./go');
const { failedPackages } = require('../failed-tests');

const STATICCHECK = 'honnef.co/go/tools/cmd/staticcheck@v0.8.2';

/** Systems for which no test runs: the program must at least compile. */
const CROSS = [
  ['darwin', 'arm64'],
  ['windows', 'amd64']
];

const USAGE = `npm run test:overlay -- [options]

Runs go vet, staticcheck and the tests of seganet-overlay, and compiles it for macOS and Windows. Tests in network namespaces need root and are skipped
without it, with a notice.

options
  --build-only      runs what takes the compiler's time, and no test
  --race            the tests with Go's race detector, which needs a C compiler
  --fuzz-seconds N  each fuzz target for N seconds, too
  --help
`;

/** @returns {{ name: string, folder: string }[]} */
function fuzzTargets() {
  return fs
    .readdirSync(path.join(FOLDER, 'internal'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('_test.go'))
    .flatMap((file) => {
      const text = fs.readFileSync(path.join(FOLDER, 'internal', file), 'utf8');
      const names = [...text.matchAll(/^func (Fuzz\w+)\(/gm)].map(([, name]) => name);
      return names.map((name) => ({ name, folder: `./internal/${path.dirname(file)}` }));
    });
}

/**
 * Runs the tests. In CI, up to three packages that fail are repeated, alone, as in .ci/jest.
 * @param {string[]} options of `go test`
 * @param {NodeJS.ProcessEnv} env
 */
function runTests(options, env) {
  if (!process.env.CI) return runGo(['test', ...options, './...'], env);
  try {
    process.stdout.write(goOutput(['test', ...options, './...'], env));
  } catch (error) {
    const { stdout = '' } = /** @type {{ stdout?: string }} */ (error);
    process.stdout.write(stdout);
    const failed = failedPackages(stdout);
    if (failed.length === 0) throw error;
    console.log(`\nAgain, alone: ${failed.join(', ')}`);
    runGo(['test', '-count=1', '-p=1', ...options, ...failed], env);
    console.log(
      `\nUNRELIABLE: these packages passed only when they were repeated alone: ${failed.join(', ')}`
    );
  }
}

runScript(() => {
  const { values } = parseArgs({
    options: {
      'build-only': { type: 'boolean' },
      race: { type: 'boolean' },
      'fuzz-seconds': { type: 'string', default: '0' },
      help: { type: 'boolean', short: 'h' }
    }
  });
  if (values.help) return void process.stdout.write(USAGE);
  const seconds = Number(values['fuzz-seconds']);
  if (!Number.isInteger(seconds) || seconds < 0) throw new Error('--fuzz-seconds takes a whole number.');
  const race = values.race ? ['-race'] : [];
  const env = values.race ? { CGO_ENABLED: '1' } : {};
  runGo(['vet', './...']);
  runGo(['run', STATICCHECK, './...'], { GOFLAGS: FLAGS });
  runTests([...race, ...(values['build-only'] ? ['-run=^$'] : [])], env);
  for (const [GOOS, GOARCH] of CROSS) runGo(['build', '-o', devNull, '.'], { GOOS, GOARCH });
  if (values['build-only']) return;
  if (seconds === 0) return;
  for (const { name, folder } of fuzzTargets()) {
    runGo(['test', '-run=^$', `-fuzz=^${name}$`, `-fuzztime=${seconds}s`, folder]);
  }
});
