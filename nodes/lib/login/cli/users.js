'use strict';

const fs = require('node:fs');
const { plural } = require('../../cli/output');
const { Trouble } = require('../../cli/trouble');
const { parsePasswords, userProblem } = require('../password-file');
const { DEFAULT_COST, hashPassword, matches, nobody } = require('../password-hash');
const { indexOfName, putLine, readLines, writeLines } = require('./lines');
const { readPassword } = require('./password');
const { EXIT, usage } = require('./usage');

/** @typedef {import('./usage').Input} Input */
/** @typedef {import('../../cli/output').Output} Output */

/** @param {Input} input @param {Output} output */
async function add({ file, name, cost, passwordFile }, output) {
  const problem = userProblem(name);
  if (problem) throw usage(`The user name ${problem}.`);
  const password = await readPassword(passwordFile, true);
  const hash = await hashPassword(password, { ...DEFAULT_COST, ln: cost });
  const wasThere = putLine(file, name, `${name}:${hash}`);
  await output.note(wasThere ? `${name} has the new password.` : `${name} is added.`);
  return EXIT.OK;
}

/** @param {Input} input @param {Output} output */
async function remove({ file, name }, output) {
  const lines = readLines(file);
  const at = indexOfName(lines, name);
  if (at < 0) throw new Trouble(`There is no user ${name} in ${file}.`, EXIT.NO);
  lines.splice(at, 1);
  writeLines(file, lines);
  await output.note(`${name} is deleted. Where it is connected it stays so until it connects again.`);
  return EXIT.OK;
}

/** @param {Input} input @param {Output} output */
async function list({ file }, output) {
  const { users, problems } = parsePasswords(fs.readFileSync(file, 'utf8'));
  for (const user of users.keys()) await output.line(user);
  for (const problem of problems) await output.note(problem);
  if (problems.length > 0) await output.note(`${plural(problems.length, 'line')} cannot be used.`);
  return problems.length > 0 ? EXIT.NO : EXIT.OK;
}

/** @param {Input} input @param {Output} output */
async function check({ file, name, passwordFile }, output) {
  const { users } = parsePasswords(fs.readFileSync(file, 'utf8'));
  const password = await readPassword(passwordFile, false);
  const isRight = await matches(password, users.get(name) ?? nobody());
  await output.note(isRight ? 'The password is right.' : `There is no user ${name} with this password.`);
  return isRight ? EXIT.OK : EXIT.NO;
}

module.exports = { add, remove, list, check };
