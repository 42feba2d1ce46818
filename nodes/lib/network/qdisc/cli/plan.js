'use strict';

const { beforeOf, comesBack, linkSteps, removeRoot, rootSteps } = require('../restore-qdisc');
const { prepare } = require('../prepare-qdisc');
const { EXIT } = require('../../common/network-error');
const { shellLine, stepLines, stepsAsJson, summary } = require('./show');

/**
 * Returns the interface's settings after the steps.
 * @param {import('../schemes').Step[]} steps
 * @param {import('../tc-output').Link} link
 */
function linkAfter(steps, link) {
  const after = { txqueuelen: link.txqueuelen, gsoMaxSegs: link.gsoMaxSegs };
  for (const { tool, args } of steps) {
    if (tool !== 'ip') continue;
    if (args[4] === 'txqueuelen') after.txqueuelen = Number(args[5]);
    else after.gsoMaxSegs = Number(args[5]);
  }
  return after;
}

/**
 * @param {import('../prepare-qdisc').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function plan(options, output) {
  const { facts, plan: made, desired, how } = await prepare(options);
  const name = facts.link.name;
  const before = beforeOf(facts);
  const undo = [
    removeRoot(name),
    ...linkSteps(name, before, linkAfter(made.steps, facts.link)),
    ...rootSteps(name, before)
  ];
  const warnings = [...made.warnings];
  if (before.handle !== '0:') {
    warnings.push(
      `'${name}' has the queue '${before.kind} ${before.handle}': unless seganet-net created it, apply replaces it only with --force.`
    );
    if (!comesBack(before)) warnings.push(`undo cannot restore '${before.kind}'.`);
  }
  const { scheme, steps, skipped } = made;
  if (options.json) {
    const { rate, share, capabilities } = desired;
    output.line(
      JSON.stringify({
        interface: name,
        scheme,
        rate,
        share,
        steps: stepsAsJson(steps),
        undo: stepsAsJson(undo),
        warnings,
        skipped,
        capabilities,
        found: how
      })
    );
    return EXIT.OK;
  }
  output.line(`# ${name}: ${summary({ ...desired, scheme })}`);
  output.line(`# Kernel features were determined ${how}.`);
  for (const { scheme: better, why } of skipped) output.line(`# Not ${better}: ${why}.`);
  for (const warning of warnings) output.line(`# Warning: ${warning}`);
  output.line('');
  if (steps.some(({ args }) => args.includes(desired.object))) {
    output.line(`# apply temporarily writes ${desired.object}, an eBPF program that reads SO_PRIORITY`);
  }
  for (const line of stepLines(steps)) output.line(line);
  output.line('');
  output.line('# undo:');
  for (const step of undo) output.line(`#   ${shellLine(step)}   (${step.why})`);
  return EXIT.OK;
}

module.exports = { plan };
