'use strict';
// The frame of the commands: which arguments it accepts, and what it says about the others.

const { readCommandLine, readOptions } = require('../../../nodes/lib/base/cli/command-line');
const { version } = require('../../../package.json');

const PROGRAM = {
  name: 'seganet-tool',
  flags: ['json'],
  commands: {
    list: { says: 'lists all', more: 'More about it.', options: ['json', 'folder', 'count'] },
    copy: { says: 'copies', more: '', operands: ['FROM', '[TO]'] }
  },
  help: {
    purpose: 'Does things.',
    options: {
      json: '  --json  prints JSON',
      folder: '  --folder DIR  where',
      count: '  --count N  how many'
    },
    exits: 'exit codes\n  0  done',
    documents: ['cli.md']
  }
};

/** @param {string[]} args */
const read = (...args) =>
  readCommandLine(PROGRAM, args, (given, operands, command) => ({
    command,
    operands,
    json: given.flag('json'),
    folder: given.folder('folder'),
    count: given.whole('count', { most: 10, initial: 3 })
  }));

test('gives the options and operands of a command', () => {
  expect(read('list').options).toEqual({
    command: 'list',
    operands: [],
    json: false,
    folder: undefined,
    count: 3
  });
  expect(read('list', '--json', '--folder=a', '--count', '10').options).toMatchObject({
    json: true,
    folder: 'a',
    count: 10
  });
  expect(read('copy', 'a').options).toMatchObject({ operands: ['a'] });
  expect(read('copy', 'a', 'b').options).toMatchObject({ operands: ['a', 'b'] });
});

test.each([
  [[], 'The command is missing.'],
  [['lst'], "There is no command 'lst'. Did you mean list?"],
  [['co'], "There is no command 'co'. Did you mean copy?"],
  [['restore'], "There is no command 'restore'."],
  [['constructor'], "There is no command 'constructor'."],
  [['list', '--jsn'], "Unknown option '--jsn'."],
  [['copy', '--json', 'a'], "Unknown option '--json'."],
  [['list', 'x'], "'x' is one argument too many."],
  [['copy'], 'FROM is missing.'],
  [['copy', 'a', 'b', 'c'], "'c' is one argument too many."],
  [['list', '--folder', ''], '--folder takes a folder.'],
  [['list', '--folder', 'a\0b'], '--folder takes a folder.'],
  ...['0', '11', '-1', '1.5', '', '1e1', 'x'].map((text) => [
    ['list', `--count=${text}`],
    '--count takes a whole number from 1 to 10.'
  ])
])('refuses %j with a sentence that leads to the help', (args, sentence) => {
  const wrong = expect.objectContaining({ message: `${sentence} See seganet-tool --help.`, exitCode: 2 });
  expect(() => read(...args)).toThrow(/** @type {any} */ (wrong));
});

test('repeats no argument of a program whose arguments may be secret', () => {
  const secret = { ...PROGRAM, isSecret: true };
  expect(() => readCommandLine(secret, ['copy', 'a', 'b', 'hunter2'], () => null)).toThrow(
    'There is one argument too many.'
  );
});

test('prints the help of all, the help of one command, and the version', () => {
  const whole = read('--help').text;
  expect(whole).toMatch(
    /^seganet-tool <command> \[options\]\n\nDoes things\.\n\ncommands\n {2}list +lists all\n/
  );
  expect(whole).toMatch(/^ {2}copy FROM \[TO\] {2}copies$/m);
  for (const args of [['-h'], ['help'], ['help', 'lst'], ['lst', '--help']])
    expect(read(...args)).toEqual({ command: 'help', text: whole, options: null });
  const one = read('help', 'list').text;
  expect(one).toMatch(/^seganet-tool list \[options\]: lists all\.\nMore about it\.\n\n {2}--json/);
  expect(read('list', '--count', '99', '-h').text).toBe(one);
  expect(read('--version').text).toBe(version);
});

test('reads the options of a program without commands', () => {
  const program = { name: 'npm run tool --', options: ['port', 'page'], repeated: ['page'] };
  const given = readOptions(program, ['--page', 'a', '--page', 'b']);
  expect(given?.all('page')).toEqual(['a', 'b']);
  expect(given?.text('port')).toBeUndefined();
  expect(readOptions(program, [])?.all('page')).toEqual([]);
  for (const help of ['--help', '-h']) expect(readOptions(program, ['--port', '1', help])).toBeNull();
  expect(() => readOptions(program, ['x'])).toThrow(
    /^Unexpected argument 'x'\. See npm run tool -- --help\.$/
  );
});
