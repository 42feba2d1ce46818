'use strict';

const fs = require('node:fs');
const { ask } = require('../api/client');
const { EXIT, messageOf } = require('../base/errors');
const { readFile } = require('../file/tenants-file');
const { exposureOf } = require('../net/exposure');
const { filesOf } = require('../templates/flow');

/**
 * @param {string} file
 * @param {number} forbidden bits of its mode
 * @returns {string} '' = fine, or it does not exist
 */
function modeProblem(file, forbidden) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat || (stat.mode & forbidden) === 0) return '';
  return `${file} is open to other users (mode ${(stat.mode & 0o777).toString(8)}).`;
}

/** @param {string} template @param {string} flow @returns {string} '' = it can be used */
function flowProblem(template, flow) {
  try {
    filesOf(flow);
    return '';
  } catch (error) {
    return `Template ${template}: ${messageOf(error)}`;
  }
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'check',
  summary: 'checks the tenants file, the folders, the engines, the rules of the network and the keeper',
  more: 'Exit code 78: the tenants file is wrong. 1: something else is.',
  usage: '',
  options: {},
  async run({ home, isJson, print, driver }) {
    const { tenants: specs, templates } = readFile(home.file);
    const problems = [
      modeProblem(home.folder, 0o077),
      modeProblem(home.socket, 0o077),
      modeProblem(home.file, 0o022)
    ];
    /** @type {string[]} */
    const facts = [`${home.file}: ${specs.length} tenants, ${templates.length} templates`];
    problems.push(...templates.map(({ name, flow }) => flow && flowProblem(name, flow)));
    for (const name of new Set(specs.map((spec) => spec.driver))) {
      try {
        const own = driver(name);
        facts.push(`driver ${name}: ${await own.check()}`);
        problems.push(...((await own.problems?.(specs.filter((spec) => spec.driver === name))) ?? []));
      } catch (error) {
        problems.push(`Driver ${name}: ${messageOf(error)}`);
      }
    }
    const { fact, problem } = await exposureOf([...specs, ...templates.map(({ spec }) => spec)]);
    if (fact) facts.push(fact);
    problems.push(problem);
    const answer = await ask(home.socket, 'GET', '/v1/tenants').catch(() => null);
    if (answer?.status === 200) facts.push(`the keeper answers at ${home.socket}`);
    else problems.push(`No keeper answers at ${home.socket}. Start it with "seganet-tenants run".`);
    const found = problems.filter(Boolean);
    if (isJson) print(JSON.stringify({ ok: found.length === 0, facts, problems: found }));
    else for (const line of [...facts, ...found]) print(line);
    return found.length === 0 ? EXIT.OK : EXIT.CANNOT;
  }
};
