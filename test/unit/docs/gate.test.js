'use strict';
// The parts and the order of Jest's suites in the gate.

const fs = require('node:fs');
const path = require('node:path');
const QuickLast = require('../../../.ci/order');
const filter = require('../../../.ci/parts');

const root = path.join(__dirname, '..', '..', '..');

/** @param {string} name @returns {string} */
const read = (name) => fs.readFileSync(path.join(root, name), 'utf8');

afterEach(() => delete process.env.CI_PART);

test('the gate runs every suite in one of its parts, and the part of the package names only suites that exist', async () => {
  const suites = fs
    .readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => path.join(root, 'test', name));
  /** @param {string} part */
  const partOf = async (part) => {
    process.env.CI_PART = part;
    return (await filter(suites)).filtered;
  };
  const [ofPackage, others] = [await partOf('package'), await partOf('others')];
  expect(ofPackage).toHaveLength(filter.PACKAGE.length);
  expect([...ofPackage, ...others].sort()).toEqual(suites.sort());
});

test('the gate begins with the long suites, so that none runs alone at the end', async () => {
  /** @param {string} name @param {number} seconds */
  const suite = (name, seconds) => ({ path: name, seconds, context: { config: { displayName: { name } } } });
  const order = new QuickLast(/** @type {any} */ ({ contexts: [], globalConfig: {} }));
  // What Jest knows from earlier runs.
  Object.assign(order, { hasFailed: () => false, time: (/** @type {any} */ { seconds }) => seconds });
  const suites = [suite('quick', 9), suite('system', 1), suite('quick', 1), suite('system', 5)];
  const sorted = await order.sort(/** @type {any} */ (suites));
  expect(sorted.map(({ path: name, duration }) => [name, duration])).toEqual([
    ['system', 5],
    ['system', 1],
    ['quick', 9],
    ['quick', 1]
  ]);
});

test('a pull request runs what the gate runs', () => {
  const [gate, workflow] = [read('.ci/run'), read('.github/workflows/ci.yml')];
  /** @param {string} text */
  const parts = (text) =>
    [...text.matchAll(/--?part[=:] ?(\w+)|part: (\w+)/g)].map(([, a, b]) => a ?? b).sort();
  expect([...new Set(parts(workflow))]).toEqual([...new Set(parts(gate))]);
  const steps = ['npm run overlay:build', '.ci/setup', '.ci/tidy'];
  for (const step of steps)
    expect([step, gate.includes(step), workflow.includes(step)]).toEqual([step, true, true]);
  const native = ['npm run prebuilds -- --nodes', 'npm run test:native --', 'npm run test:overlay -- --race'];
  for (const step of native)
    expect([step, gate.includes(step), workflow.includes(step)]).toEqual([step, true, true]);
  expect(workflow).toMatch(/^ +- run: npm run lint$/m);
  expect(workflow).toMatch(/^ +- run: npm test$/m);
});

test('each program of the gate that CI and the container of developers call exists', () => {
  const files = [
    '.ci/run',
    '.ci/setup',
    '.github/workflows/ci.yml',
    '.devcontainer/devcontainer.json',
    'CONTRIBUTING.md'
  ];
  const named = files.flatMap((name) =>
    [...read(name).matchAll(/(?<![\w/])\.ci\/[\w.-]*[\w]/g)].map(([file]) => file)
  );
  expect(named.length).toBeGreaterThan(20);
  expect([...new Set(named)].filter((file) => !fs.existsSync(path.join(root, file)))).toEqual([]);
});

test('one set-up names every variable by which tests find what was fetched', () => {
  const setup = read('.ci/setup');
  const exported = /^ {2}export ((?:SEGANET_\w+ ?)+)$/m.exec(setup)?.[1].trim().split(' ') ?? [];
  const printed = /for name in ([A-Z0-9_ ]+);/.exec(setup)?.[1].split(' ') ?? [];
  expect(printed.map((name) => `SEGANET_${name}`)).toEqual(exported);
  const scripts = fs.readdirSync(path.join(root, '.ci'));
  const found = scripts.flatMap((name) =>
    [...read(`.ci/${name}`).matchAll(/^# +export (SEGANET_\w+)=/gm)].map(([, variable]) => variable)
  );
  expect(found.length).toBeGreaterThan(5);
  expect(found.filter((name) => !exported.includes(name))).toEqual([]);
});
