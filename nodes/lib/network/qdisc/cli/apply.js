'use strict';

const fs = require('node:fs');
const { applyChange } = require('../apply-qdisc');
const { checkChange } = require('../check-qdisc');
const { classifierObject } = require('../classifier');
const { inspect } = require('../inspect-qdisc');
const { prepare } = require('../prepare-qdisc');
const { makeDirectory, locked, writeWhole } = require('../qdisc-state');
const { EXIT } = require('../../common/network-error');
const { needRights } = require('../../common/rights');
const { stepLines, stepsAsJson, summary } = require('./show');

/**
 * @param {import('../prepare-qdisc').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function apply(options, output) {
  needRights('apply');
  const prepared = await prepare(options);
  const { plan, desired } = prepared;
  const { scheme, steps, warnings } = plan;
  const { name } = prepared.facts.link;
  const directory = options.stateDir;
  makeDirectory(directory);
  const applied = await locked(directory, name, async () => {
    // Also needed to restore an earlier set-up.
    writeWhole(desired.object, classifierObject());
    try {
      // Read again: another process may have changed it before the lock was taken.
      const facts = await inspect(name);
      return await applyChange({ facts, scheme, steps, desired, directory, force: options.force });
    } finally {
      fs.rmSync(desired.object, { force: true });
    }
  });
  const verdict = checkChange(applied.facts, directory);
  if (applied.lost !== '') warnings.push(`undo cannot restore '${applied.lost}': note how it was set up.`);
  if (options.json) {
    const { changed } = applied;
    const made = { scheme, rate: desired.rate, share: desired.share };
    output.line(
      JSON.stringify({
        interface: name,
        changed,
        ...made,
        steps: stepsAsJson(steps),
        warnings,
        check: verdict
      })
    );
    return verdict.ok ? EXIT.OK : EXIT.NOT_OK;
  }
  for (const warning of warnings) await output.note(`seganet-net: Warning: ${warning}`);
  const made = summary({ ...desired, scheme });
  if (applied.changed) {
    for (const line of stepLines(steps)) output.line(line);
    output.line(`${name}: set up as ${made}.`);
  } else output.line(`${name}: is already set up as ${made}. Nothing to do.`);
  if (verdict.ok) return EXIT.OK;
  await output.note(`seganet-net: The set-up has no effect: ${verdict.reason}`);
  return EXIT.NOT_OK;
}

module.exports = { apply };
