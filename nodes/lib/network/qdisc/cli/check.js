'use strict';

const { checkChange } = require('../check-qdisc');
const { rateText } = require('../verdict');
const { inspect } = require('../inspect-qdisc');
const { interfaceOf } = require('../prepare-qdisc');
const { EXIT } = require('../../common/network-error');
const { bandLines, summary } = require('./show');

/**
 * @param {import('../prepare-qdisc').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function check(options, output) {
  const name = await interfaceOf(options);
  const facts = await inspect(name);
  const checked = checkChange(facts, options.stateDir);
  const { ok, kind, reason, rate, bands, applied, asApplied } = checked;
  const code = ok ? EXIT.OK : EXIT.NOT_OK;
  if (options.json) {
    output.line(JSON.stringify({ interface: name, ...checked }));
    return code;
  }
  output.line(`${name}: ${ok ? 'ok' : 'not ok'}: ${kind}${rate > 0 ? `, ${rateText(rate)}` : ''}. ${reason}`);
  if (applied && asApplied) output.line(`Unchanged since apply: ${summary(applied)}.`);
  else if (applied) output.line(`Changed since apply, which had set up ${summary(applied)}.`);
  for (const line of bandLines(bands)) output.line(line);
  return code;
}

module.exports = { check };
