'use strict';
// seganet-passwd as operators and scripts run it.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { run } = require('../../../nodes/lib/login/cli/command');
const { needs } = require('../../../bench/harness/tools');

const { test: atTerminal } = needs('script');
const command = path.join(__dirname, '../../../nodes/lib/login/cli/seganet-passwd.js');
let folder, file;

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-passwd-'));
  file = path.join(folder, 'passwords');
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string[]} args @param {string | Buffer} [input] */
function passwd(args, input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    input,
    encoding: 'utf8'
  });
  return { status, stdout, stderr };
}
const add = (user, password, ...more) => passwd(['add', '--cost', '10', ...more, file, user], password);
const check = (user, password) => passwd(['check', file, user], password).status;
const read = () => fs.readFileSync(file, 'utf8');

test('adds, checks, changes, lists and deletes a user', () => {
  expect(add('pump-1', 'one\n')).toMatchObject({ status: 0, stderr: 'pump-1 was added.\n' });
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(read()).toMatch(/^pump-1:\$scrypt\$ln=10,r=8,p=1\$[^$]+\$[^$]+\n$/);
  expect([check('pump-1', 'one'), check('pump-1', 'two'), check('pump-2', 'one')]).toEqual([0, 1, 1]);
  expect(add('pump-1', 'two').stderr).toBe('pump-1 has a new password.\n');
  expect([check('pump-1', 'one'), check('pump-1', 'two')]).toEqual([1, 0]);
  add('pump-2', 'x');
  expect(passwd(['list', file])).toEqual({ status: 0, stdout: 'pump-1\npump-2\n', stderr: '' });
  expect(passwd(['delete', file, 'pump-1']).status).toBe(0);
  expect(passwd(['list', file]).stdout).toBe('pump-2\n');
  expect(passwd(['delete', file, 'pump-1'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/no user or token pump-1/)
  });
});

test('keeps comments, other lines and the mode of the file', () => {
  fs.writeFileSync(file, '# ours\n\nold: keep me\n', { mode: 0o640 });
  fs.chmodSync(file, 0o640);
  add('a', 'x');
  expect(read()).toMatch(/^# ours\n\nold: keep me\na:\$scrypt\$/);
  expect(fs.statSync(file).mode & 0o777).toBe(0o640);
  expect(fs.readdirSync(folder)).toEqual(['passwords']);
  expect(passwd(['list', file])).toMatchObject({
    status: 1,
    stdout: 'a\n',
    stderr: expect.stringMatching(/Line 3/)
  });
});

test('keeps a link a link', () => {
  fs.writeFileSync(path.join(folder, 'real'), '');
  fs.symlinkSync('real', file);
  add('a', 'x');
  expect(fs.lstatSync(file).isSymbolicLink()).toBe(true);
  expect(check('a', 'x')).toBe(0);
});

test('reads the password from the first line of a file', () => {
  const secret = path.join(folder, 'secret');
  fs.writeFileSync(secret, 'p w\r\nmore\n');
  expect(add('a', '', '--password-file', secret).status).toBe(0);
  expect(check('a', 'p w')).toBe(0);
});

test('shows a token once and keeps it as its hash', () => {
  const { status, stdout } = passwd(['token', '--devices', 'pump-*', file, 'line-1']);
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)]);
  const hash = require('node:crypto').createHash('sha256').update(stdout.trim()).digest('hex');
  expect(read()).toBe(`line-1:$sha256$${hash}:pump-*\n`);
});

describe('supports a name with several lines', () => {
  const { TokenFile } = require('../../../nodes/lib/login/token-file');
  const token = (name, ...more) => passwd(['token', ...more, file, name]).stdout.trim();
  const globsOf = (secret) => {
    const tokens = new TokenFile(file, () => {});
    expect(tokens.refresh()).toBe(true);
    const bearer = tokens.find(`Bearer ${secret}`);
    return ['pump-1', 'valve-1', 'lamp'].filter((device) => bearer?.allows(device));
  };

  test('voids a renewed or deleted token for all devices that had it', () => {
    const old = token('plant', '--devices', 'pump-*');
    fs.appendFileSync(file, `# more\n${read().trim().replace('pump-*', 'valve-*')}\n`);
    const other = token('lamp');
    expect(globsOf(old)).toEqual(['pump-1', 'valve-1']);
    expect(passwd(['list', file])).toEqual({
      status: 0,
      stdout: 'plant pump-* valve-*\nlamp lamp\n',
      stderr: ''
    });

    const renewed = passwd(['token', file, 'plant']);
    expect(renewed.stderr).toMatch(/The previous token is now invalid/);
    expect([globsOf(old), globsOf(renewed.stdout.trim())]).toEqual([[], ['pump-1', 'valve-1']]);
    const narrower = token('plant', '--devices', 'valve-*');
    expect([globsOf(renewed.stdout.trim()), globsOf(narrower)]).toEqual([[], ['valve-1']]);

    expect(passwd(['delete', file, 'plant']).status).toBe(0);
    expect([globsOf(narrower), globsOf(other)]).toEqual([[], ['lamp']]);
    expect(read()).toMatch(/^# more\nlamp:/);
  });

  test('deletes a user who is listed twice, and leaves one password on a change', () => {
    add('a', 'old');
    const line = read();
    add('a', 'new');
    fs.appendFileSync(file, line);
    expect(passwd(['delete', file, 'a']).status).toBe(0);
    expect([check('a', 'new'), check('a', 'old')]).toEqual([1, 1]);
    fs.writeFileSync(file, line + line);
    add('a', 'third');
    expect(read().match(/^a:/gm)).toHaveLength(1);
  });

  test('names the bad line of a token file, which makes the whole file unused', () => {
    token('a');
    fs.appendFileSync(file, 'b:$sha256$12:x\n');
    expect(passwd(['list', file])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/Line 2 is not like/)
    });
  });
});

/** Runs in this process because wrong arguments need no other. */
async function refusal(args) {
  const error = await run(args, null).catch((trouble) => trouble);
  return [error.exitCode, error.message];
}

test.each([
  [[], /The command is missing/],
  [['fly'], /no command 'fly'/],
  [['add'], /The file is missing/],
  [['add', 'FILE'], /The name is missing/],
  [['add', 'FILE', 'u', 'hunter2'], /one argument too many/],
  [['add', 'FILE', 'a:b'], /colon/],
  [['add', 'FILE', '#a'], /begins with #/],
  [['add', 'FILE', 'é'.repeat(129)], /exceeds 256 bytes/],
  [['add', '--cost', '9', 'FILE', 'u'], /--cost takes/],
  [['add', '--password', 'x', 'FILE', 'u'], /Unknown option/],
  [['token', '--devices', 'x'.repeat(257), 'FILE', 'u'], /--devices/],
  [['token', 'FILE', 'a b'], /without colons and spaces/]
])('rejects %j as wrong usage', async (args, reason) => {
  const [status, message] = await refusal(args.map((each) => (each === 'FILE' ? file : each)));
  expect([status, message]).toEqual([2, expect.stringMatching(reason)]);
  expect(message).not.toContain('hunter2');
  expect(fs.existsSync(file)).toBe(false);
});

test.each([
  [['add', 'FILE', 'u'], '', 2, /password is empty/],
  [['add', 'FILE', 'u'], 'x'.repeat(1025), 2, /exceeds 1024 bytes/],
  [['add', 'FILE', 'u'], 'x\0', 2, /ends with NUL/],
  [['add', '/none/x', 'u'], 'x', 3, /ENOENT/],
  [['check', 'FILE', 'u'], 'x', 3, /ENOENT/]
])('refuses %j with the password %j', (args, input, status, reason) => {
  const result = passwd(
    args.map((each) => (each === 'FILE' ? file : each)),
    input
  );
  expect(result).toMatchObject({ status, stderr: expect.stringMatching(reason), stdout: '' });
  expect(fs.existsSync(file)).toBe(false);
});

test('explains each command with --help', () => {
  const { status, stdout } = passwd(['--help']);
  expect(status).toBe(0);
  for (const word of ['add', 'delete', 'list', 'check', 'token'])
    expect(stdout).toMatch(new RegExp(`^  ${word} FILE`, 'm'));
});

atTerminal('asks twice on a terminal, and shows no typed character', async () => {
  const line = `${process.execPath} ${command} add --cost 10 ${file} pump-1`;
  const type = async (...answers) => {
    const child = spawn('script', ['-qec', line, '/dev/null']);
    // A client that has stopped reads no answer.
    child.stdin.on('error', () => {});
    let shown = '';
    let asked = 0;
    child.stdout.on('data', (chunk) => {
      shown += chunk;
      const questions = shown.match(/Password: |Again: /g)?.length ?? 0;
      if (questions > asked) child.stdin.write(answers[asked++] ?? '');
    });
    const [status] = await once(child, 'close');
    return { status, shown };
  };
  const { status, shown } = await type('secrex\x7ft\r', 'secret\r');
  expect([status, shown]).toEqual([0, expect.stringMatching(/Password: [^]*Again: [^]*was added/)]);
  expect(shown).not.toMatch(/secre/);
  expect(check('pump-1', 'secret')).toBe(0);
  expect((await type('one\rtwo\r')).shown).toMatch(/passwords do not match/);
  expect((await type('\x03')).shown).toMatch(/Canceled/);
});
