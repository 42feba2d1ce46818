'use strict';
// gateway.env: every line sets its whole value, or is reported.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { environmentOf, settingsFileProblems } = require('../../../flows/cli/home-settings');

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-env-'));
const file = path.join(home, 'gateway.env');
afterAll(() => fs.rmSync(home, { recursive: true }));

/** @param {string} text @param {NodeJS.ProcessEnv} [env] */
function read(text, env = {}) {
  fs.writeFileSync(file, text, { mode: 0o600 });
  const { SEGANET_HOME, ...values } = environmentOf(home, env);
  expect(SEGANET_HOME).toBe(home);
  return { values, problems: settingsFileProblems(home).problems };
}

test('sets values in quotes, with comments, after blank values and after a byte order mark', () => {
  const text = "\uFEFFA=1\r\nB=   \nexport C='x # y' # it's\n  D = z\t#1\nE=it's\nF=\"a'b\"\nG=\n\n# H=1\n";
  expect(read(text)).toEqual({
    values: { A: '1', B: '', C: 'x # y', D: 'z', E: "it's", F: "a'b", G: '' },
    problems: []
  });
});

test.each([
  ["A='it's'", /^Line 1 of .* has more behind the second '\. Enclose/],
  ['A="a', /^Line 1 of .* has no second "\. Close/],
  ['A=a#b', /^Line 1 of .* would end before the #\. Enclose/],
  ['A=#b', /would end before the #/],
  ['A 1', /^Line 1 of .* is not NAME=value/]
])('reports %s, and sets the next line', (line, reason) => {
  const { values, problems } = read(`${line}\nLOGIN='passwords'\n`);
  expect(values.LOGIN).toBe('passwords');
  expect(problems).toEqual([expect.stringMatching(reason)]);
});

test('the environment wins, unless a variable is empty', () => {
  const env = { A: '2', B: ' ', C: '' };
  expect(read('A=1\nB=1\n', env).values).toEqual({ A: '2', B: '1', C: '' });
});
