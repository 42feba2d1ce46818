'use strict';

const { plural } = require('../../base/cli/cli-output');
const { CliError } = require('../../base/cli/cli-error');
const { readRegular } = require('../../base/files/regular-file');
const { parsePasswords, userProblem } = require('../password-file');
const { DEFAULT_COST, hashPassword, matches, decoyHash } = require('../password-hash');
const { linesOf, putLines } = require('../lines');
const { readPassword } = require('./password');
const { hasTokens, listTokens } = require('./token');
const { EXIT, usage } = require('./usage');

/** @typedef {import('./usage').Input} Input */
/** @typedef {import('../../base/cli/cli-output').Output} Output */

/** @param {Input} input @param {Output} output */
async function add({ file, name, cost, passwordFd }, output) {
  const problem = userProblem(name);
  if (problem) throw usage(`The user name ${problem}.`);
  const password = await readPassword(passwordFd, true);
  const hash = await hashPassword(password, { ...DEFAULT_COST, ln: cost });
  const wasThere = putLines(file, name, [`${name}:${hash}`]) > 0;
  await output.note(wasThere ? `${name} has a new password.` : `${name} was added.`);
  return EXIT.OK;
}

/** @param {Input} input @param {Output} output */
async function remove({ file, name }, output) {
  if (linesOf(file, name).length === 0)
    throw new CliError(`There is no user or token ${name} in ${file}.`, EXIT.NO);
  putLines(file, name, []);
  await output.note(
    `${name} was deleted. A device that is connected with it stays connected until it disconnects.`
  );
  return EXIT.OK;
}

/** @param {Input} input @param {Output} output */
async function list({ file }, output) {
  const text = readRegular(file);
  if (hasTokens(text)) return listTokens(text, output);
  const { users, problems } = parsePasswords(text);
  for (const user of users.keys()) await output.line(user);
  for (const problem of problems) await output.note(problem);
  if (problems.length > 0) await output.note(`${plural(problems.length, 'line')} cannot be used.`);
  return problems.length > 0 ? EXIT.NO : EXIT.OK;
}

/** @param {Input} input @param {Output} output */
async function check({ file, name, passwordFd }, output) {
  const { users } = parsePasswords(readRegular(file));
  const password = await readPassword(passwordFd, false);
  const isRight = await matches(password, users.get(name) ?? decoyHash());
  await output.note(isRight ? 'The password is right.' : `There is no user ${name} with this password.`);
  return isRight ? EXIT.OK : EXIT.NO;
}

module.exports = { add, remove, list, check };
