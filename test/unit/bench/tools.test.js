'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { haveTool, needs } = require('../../../bench/harness/tools');

const root = path.join(__dirname, '../../..');
const jestCommand = path.join(root, 'node_modules', 'jest', 'bin', 'jest.js');

describe('needs', () => {
  test('change nothing for a tool that is installed', () => {
    expect(haveTool('sh')).toBe(true);
    expect(needs('sh').describe).toBe(global.describe);
    expect(needs('sh').test).toBe(global.test);
  });

  const { test: withPython } = needs('python3');
  withPython('a module of python is a tool', () => {
    expect(haveTool('python:json')).toBe(true);
    expect(haveTool('python:no_such_module')).toBe(false);
  });

  test('find no module in a missing python', () => {
    const before = process.env.SEGANET_PYTHON;
    process.env.SEGANET_PYTHON = '/no/such/python';
    try {
      expect(haveTool('python:json')).toBe(false);
    } finally {
      if (before === undefined) delete process.env.SEGANET_PYTHON;
      else process.env.SEGANET_PYTHON = before;
    }
  });

  /** Runs a separate test file with this Jest, without the tool that it needs. */
  function runWithout(/** @type {string} */ body, env = {}) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-needs-'));
    try {
      const head = `const tools = require(${JSON.stringify(path.join(root, 'bench', 'harness', 'tools'))});
        const { describe, test } = tools.needs('sh', 'no-such-tool');\n`;
      fs.writeFileSync(path.join(folder, 'one.test.js'), head + body);
      const args = ['--rootDir', folder, '--config', '{"testEnvironment":"node"}', '--json', '--verbose'];
      const { stdout, stderr } = spawnSync(process.execPath, [jestCommand, ...args], {
        encoding: 'utf8',
        cwd: folder,
        env: { ...process.env, SEGANET_REQUIRE_TOOLS: '0', ...env }
      });
      const [{ assertionResults: results, message }] = JSON.parse(stdout).testResults;
      const ends = results.map((/** @type {any} */ { fullName, status }) => [fullName, status]);
      return { ends, message, stderr };
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  }

  const everyForm = `
    const never = () => { throw new Error('it ran'); };
    test('plain', never);
    test('with a limit', never, 1000);
    test.each([1, 2])('of a list %p', never);
    test.each\`
      n | m
      \${3} | \${4}
    \`('of a table $n', never);
    test.only('only', never);
    test.skip('skip', never);
    test.failing('failing', never);
    test.concurrent('concurrent', never);
    test.only.each([4])('only of a list %p', never);
    test.todo('todo');
    describe('group', () => global.test('inner', never));
    describe.each([5])('group %p', () => global.test('inner', never));
    describe.only('group only', () => global.test('inner', never));
  `;
  const names = [
    ...['plain', 'with a limit', 'of a list 1', 'of a list 2', 'of a table 3', 'only', 'skip', 'failing'],
    ...['concurrent', 'only of a list 4', 'todo']
  ];

  test('skip every form of test without the tool; the name and a line give the reason', () => {
    const { ends, message, stderr } = runWithout(everyForm);
    const why = 'needs no-such-tool, not installed';
    expect(message).toBe('');
    expect(ends).toEqual([
      ...names.map((name) => [`${name} [skipped: ${why}]`, 'pending']),
      ...['group', 'group 5', 'group only'].map((name) => [`${name} [skipped: ${why}] inner`, 'pending'])
    ]);
    expect(stderr).toContain(`skipped in one.test.js: ${why}`);
  });

  test('fail every form of test where CI promises the tool and it is missing', () => {
    const { ends } = runWithout(everyForm, { SEGANET_REQUIRE_TOOLS: '1' });
    expect(ends.length).toBeGreaterThan(0);
    for (const [name, status] of ends) {
      expect([name, status]).toEqual([
        expect.stringContaining('[needs no-such-tool, not installed]'),
        'failed'
      ]);
    }
  });
});
