'use strict';
// docs/reference/cli.md has the help that the commands print.

const fs = require('node:fs');
const { PAGE, withHelp } = require('../../../flows/cli/document');
const { bin } = require('../../../package.json');

test('docs/reference/cli.md shows the present help of every command', () => {
  const page = fs.readFileSync(PAGE, 'utf8');
  expect(page).toBe(withHelp(page));
  for (const name of Object.keys(bin)) expect(page).toMatch(new RegExp(`^## ${name}$`, 'm'));
  expect(page).toMatch(/^### seganet-gateway restore$/m);
}, 60000);

test('no line of a help text is wider than 140 columns', () => {
  const long = fs
    .readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.length > 140);
  expect(long).toEqual([]);
});
