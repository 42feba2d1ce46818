'use strict';
// npm run test:native: the tests of the C++ core. See --help.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFile, spawnSync } = require('node:child_process');
const { parseArgs, promisify } = require('node:util');
const { failedTests } = require('../failed-tests');

const native = path.resolve(__dirname, '..');
const jobs = String(os.cpus().length);

const USAGE = `npm run test:native -- [options]

The tests of the C++ core: plain, under ASan and UBSan (clang) and, what has threads, under TSan; then a short run of every
fuzz target. Step arm64 must be named: it emulates a 64-bit Arm machine (arm64.cmake says what it needs).

Options (defaults in parentheses):
  --only          steps with commas: plain, asan, tsan, fuzz, arm64 (plain,asan,tsan,fuzz)
  --fuzz-seconds  length of each fuzz target (20)
  --build-only    compile what the steps need, run nothing
  --help

Needs cmake, ninja or make, GoogleTest, libuv and OpenSSL 3 with headers; clang for ASan, TSan and the fuzz targets
(Debian: cmake ninja-build libgtest-dev libuv1-dev libssl-dev pkg-config clang libclang-rt-dev).
`;

/** @returns the options of the command line, or ends the process */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', default: 'plain,asan,tsan,fuzz' },
        'fuzz-seconds': { type: 'string', default: '20' },
        'build-only': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false }
      }
    });
    return values;
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message} See --help.`);
    process.exit(2);
  }
}

const options = readOptions();
const buildOnly = options['build-only'];

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
function run(command, args, env = {}) {
  const done = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (done.error) {
    console.error(`${command}: ${done.error.message}. --help lists what is needed.`);
    process.exit(1);
  }
  if (done.status !== 0) {
    console.error(`${command} ${args.join(' ')}: exit ${done.status ?? done.signal}`);
    process.exit(1);
  }
}

/** @param {string} name @param {string[]} definitions @returns {string} build folder */
function build(name, definitions) {
  const out = path.join(native, 'out', name);
  // Files together compile faster, unless only one of them has changed.
  const unity = process.env.CI
    ? ['-DCMAKE_UNITY_BUILD=ON', '-DCMAKE_UNITY_BUILD_BATCH_SIZE=24']
    : ['-DCMAKE_UNITY_BUILD=OFF'];
  run('cmake', ['-S', native, '-B', out, ...unity, ...definitions]);
  run('cmake', ['--build', out, '--parallel', jobs]);
  return out;
}

/** What starts the tests of a step. @type {Record<string, string[]>} */
const WRAPPERS = {
  // The address-space randomization of new kernels is more than GCC 12's TSan can map.
  ...(process.platform === 'linux' && { tsan: ['setarch', '-R'] }),
  arm64: ['qemu-aarch64-static']
};

/** @type {Record<string, string[]>} */
const OPTIONS = {
  // QEMU ignores the limit of a process's memory that this test sets.
  arm64: ['--gtest_filter=-LoopThreadDeathTest.AThreadThatTheSystemRefusesIsAnError']
};

/** Under sanitizers compiling is what takes long: with -O2 -g nearly twice as long. */
const LIGHT = '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG';

/** One build for tests and fuzz targets. */
const asan = () =>
  build('asan', [
    '-DCMAKE_CXX_COMPILER=clang++',
    '-DSEGANET_FUZZ=ON',
    '-DSEGANET_SANITIZE=address,undefined',
    LIGHT
  ]);

/** Tests that passed only when they were repeated, by their step. @type {string[]} */
const unreliable = [];

/**
 * A part of the tests on each core: most of them wait. In CI, up to three tests that fail are repeated, alone, as in
 * .ci/jest.
 * @param {string} name
 * @param {() => string} make returns the build folder
 */
async function unitTests(name, make) {
  console.log(`\n== core tests: ${name}`);
  const out = make();
  if (buildOnly) return;
  const wrap = WRAPPERS[name] ?? [];
  const given = ['--gtest_brief=1', '--gtest_shuffle', ...(OPTIONS[name] ?? [])];
  const [command, ...args] = [...wrap, path.join(out, 'core_test'), ...given];
  const shards = os.cpus().length;
  const test = (/** @type {string[]} */ more, /** @type {Record<string, string>} */ env) =>
    promisify(execFile)(command, [...args, ...more], {
      env: {
        ...process.env,
        UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
        TSAN_OPTIONS: 'halt_on_error=1:second_deadlock_stack=1',
        SEGANET_TEST_WRAPPER: wrap.join(' '),
        ...env
      },
      maxBuffer: 1 << 28
    }).then(
      ({ stdout }) => {
        process.stdout.write(stdout);
        return [];
      },
      (error) => {
        console.error(`${error.stdout ?? ''}${error.stderr ?? ''}\n${name}: ${error.message}`);
        const failed = process.env.CI && more.length === 0 ? failedTests(error) : [];
        if (failed.length === 0) process.exit(1);
        return failed;
      }
    );
  const parts = Array.from({ length: shards }, (_, shard) =>
    test([], { GTEST_TOTAL_SHARDS: String(shards), GTEST_SHARD_INDEX: String(shard) })
  );
  const failed = (await Promise.all(parts)).flat();
  if (failed.length === 0) return;
  console.log(`\nAgain, alone: ${failed.join(', ')}`);
  await test([`--gtest_filter=${failed.join(':')}`], {});
  unreliable.push(`${failed.join(', ')} (${name})`);
}

async function fuzz() {
  const seconds = options['fuzz-seconds'];
  console.log(`\n== fuzz targets: ${seconds} s each`);
  const out = asan();
  if (buildOnly) return;
  const names = fs
    .readdirSync(path.join(native, 'fuzz'))
    .filter((file) => file.endsWith('_fuzz.cc'))
    .map((file) => file.slice(0, -3));
  // Each takes one core for its whole time.
  await Promise.all(
    Array.from({ length: os.cpus().length }, async () => {
      for (let name = names.shift(); name; name = names.shift()) await fuzzOne(out, name, seconds);
    })
  );
}

/** @param {string} out build folder @param {string} name of the target @param {string} seconds */
async function fuzzOne(out, name, seconds) {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), `${name}-`));
  const seeds = path.join(native, 'fuzz', 'corpus', name.split('_')[0]);
  const folders = fs.existsSync(seeds) ? [work, seeds] : [work];
  const limits = [`-max_total_time=${seconds}`, `-artifact_prefix=${path.join(out, `${name}-`)}`];
  try {
    await promisify(execFile)(path.join(out, name), [...limits, ...folders], { maxBuffer: 1 << 28 });
  } catch (error) {
    const { stderr = '', message } = /** @type {{stderr?: string, message: string}} */ (error);
    console.error(`${stderr}\n${name}: ${message}`);
    process.exit(1);
  }
  fs.rmSync(work, { recursive: true, force: true });
  console.log(`${name}: no fault in ${seconds} s`);
}

const steps = {
  plain: () => unitTests('plain', () => build('plain', ['-DSEGANET_SANITIZE='])),
  asan: () => unitTests('asan', asan),
  tsan: () =>
    unitTests('tsan', () =>
      build('tsan', ['-DCMAKE_CXX_COMPILER=clang++', '-DSEGANET_SANITIZE=thread', LIGHT])
    ),
  fuzz,
  arm64: () =>
    unitTests('arm64', () =>
      build('arm64', [`-DCMAKE_TOOLCHAIN_FILE=${path.join(__dirname, 'arm64.cmake')}`, LIGHT])
    )
};
const wanted = options.only.split(',');
for (const name of wanted) {
  if (!Object.hasOwn(steps, name)) {
    console.error(`unknown step '${name}': there are ${Object.keys(steps).join(', ')}`);
    process.exit(2);
  }
}

async function main() {
  if (options.help) return process.stdout.write(USAGE);
  for (const [name, step] of Object.entries(steps)) if (wanted.includes(name)) await step();
  if (unreliable.length > 0)
    console.log(
      `\nUNRELIABLE: these tests passed only when they were repeated alone: ${unreliable.join(', ')}`
    );
  console.log(buildOnly ? '\nnative tests: compiled' : '\nnative tests: all passed');
}

main();
