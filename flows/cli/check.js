'use strict';

const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const demo = require('../demo/demo');
const { checkConnections } = require('./check-connect');
const { checkFlow } = require('./check-flow');
const { checkHost } = require('./check-host');
const { isRunning } = require('./gateway-client');
const { environmentOf, homeOf, missingHome, settingsFileProblems, settingsOf } = require('./home-settings');
const { EXIT } = require('./usage');

/**
 * @typedef {object} Finding
 * @property {string} about what was checked
 * @property {'ok' | 'note' | 'problem'} result note: the gateway starts, but the operator should know
 * @property {string} text a sentence; a problem's has a remedy
 */

/**
 * @param {import('./usage').Options} options
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function check({ home: given, json, connect }, output) {
  const home = homeOf(given);
  const missing = missingHome(given);
  if (missing)
    return report(
      [{ about: 'folder', result: 'problem', text: missing }],
      { home, json, runs: false },
      output
    );
  const { isDropped, closed } = dropTo(home);
  if (closed)
    return report(
      [{ about: 'folder', result: 'problem', text: closed }],
      { home, json, runs: false },
      output
    );
  const env = environmentOf(home);
  const { values, problems } = settingsOf(env);
  const file = settingsFileProblems(home);
  problems.push(...file.problems);
  /** @type {Finding[]} */
  const findings = problems.map((text) => ({ about: 'settings', result: 'problem', text }));
  if (problems.length === 0) findings.push(settingsFinding(values));
  for (const text of file.notes) findings.push({ about: 'settings', result: 'note', text });
  const runs = await isRunning(home);
  findings.push(
    ...(await checkFlow(home, { ...env, ...values }, { runs, isDropped })),
    ...checkHost(home, values)
  );
  if (connect) findings.push(...(await checkConnections(home, { ...env, ...values })));
  return report(findings, { home, json, runs }, output);
}

/** @param {string} home @returns {{ isDropped: boolean, closed: string }} closed: why root must not look into it */
function dropTo(home) {
  try {
    return { isDropped: workAsOwnerOf(home), closed: '' };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { isDropped: false, closed: error.message };
  }
}

/**
 * @param {Finding[]} findings
 * @param {{ home: string, json: boolean, runs: boolean }} about
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {number} the exit code
 */
function report(findings, { home, json, runs }, output) {
  const isOk = findings.every(({ result }) => result !== 'problem');
  if (json) output.line(JSON.stringify({ home, ok: isOk, running: runs, findings }));
  else {
    for (const { about, result, text } of findings) {
      output.line(`${result.padEnd(7)}  ${about.padEnd(9)}  ${text}`);
    }
    output.line(
      isOk ? 'The gateway can start.' : 'The gateway cannot start, or cannot serve: see the problems above.'
    );
  }
  return isOk ? EXIT.OK : EXIT.CONFIG;
}

/** @param {Record<string, string>} values @returns {Finding} */
function settingsFinding({ SEGANET_UPLINK_URL: url, SEGANET_GATEWAY_ID: id }) {
  if (url) return { about: 'settings', result: 'ok', text: `Gateway ${id}, uplink ${url}.` };
  const lacks = demo.missing();
  if (lacks) return { about: 'settings', result: 'problem', text: lacks };
  const text = 'SEGANET_UPLINK_URL is not set: the gateway starts its demo. Set it in gateway.env.';
  return { about: 'settings', result: 'note', text };
}

exports.check = check;
