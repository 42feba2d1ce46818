'use strict';
// Measures whether the uplink survives the death of a path, and what two paths carry: all of docs/use/paths.md.
//   node bench/questions/paths.js --help

const { fail, readArguments } = require('../harness/arguments');
const { gatewayEnv, loadTexts, pinning } = require('../options/options');
const { duration } = require('../report/progress');
const { list, save } = require('../report/report');
const { conditions } = require('../paths/conditions');
const { loadCases } = require('../paths/cases');
const { PathsLab } = require('../paths/lab');
const { AROUND_S, conclude, congestionOf, congestionText, runQuestion } = require('../paths/program');
const { measurePaths } = require('../paths/run');

/** @typedef {import('../paths/cases').Case} Case @typedef {import('../paths/cases').Outcome} Outcome */

const all = loadCases();

const intro = `Usage: node bench/questions/paths.js [options]

Devices → gateway → two shaped links → mosquitto (TLS 1.3) → sink; gateway and cloud in separate network namespaces
(needs root). Cases:
${all.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`).join('\n')}`;

function read() {
  const { pin, env, out } = loadTexts;
  const options = readArguments(intro, {
    numbers: { rounds: ['1', 1, 20, 'each round runs each case once'] },
    texts: {
      only: ['', 'comma-separated cases; empty = all'],
      congestion: congestionText,
      pin,
      env,
      out
    },
    flags: { quick: 'short runs, some cases only in part: a functional check, not a measurement' }
  });
  const names = options.text('only').split(',').filter(Boolean);
  for (const name of names) {
    if (!all.some((each) => each.name === name)) fail(`--only: '${name}' is not known. See --help.`);
  }
  return {
    chosen: all.filter(({ name }) => names.length === 0 || names.includes(name)),
    rounds: options.number('rounds'),
    quick: options.flag('quick'),
    out: options.text('out'),
    congestion: congestionOf(options.text('congestion')),
    env: gatewayEnv(options.text('env')),
    ...pinning(options.text('pin'))
  };
}

/** @typedef {ReturnType<typeof read>} Options */

/** @param {Options} options @param {(lab: PathsLab) => Promise<any>} run @param {object} labOptions */
async function inLab(options, run, labOptions) {
  const lab = await PathsLab.open(labOptions);
  try {
    return await run(lab);
  } finally {
    await lab.close();
  }
}

/**
 * Returns the context of a case's run.
 * @param {Options} options @param {PathsLab} lab
 * @returns {import('../paths/cases').Context}
 */
const contextOf = (options, lab) => ({
  lab,
  options,
  measure: (plan) =>
    measurePaths(lab, {
      gatewayCpus: options.gatewayCpus,
      harnessCpus: options.harnessCpus,
      ...plan,
      // The user's settings override those of the case.
      env: {
        ...(options.congestion && { 'seganet-uplink-broker.congestion': options.congestion }),
        ...plan.env,
        ...options.env
      }
    })
});

/** @param {Options} options @returns {Promise<Outcome[]>} */
async function runAll(options) {
  const { chosen, rounds, quick } = options;
  const plan = chosen.flatMap((each) => each.runs(options).map((run) => ({ each, run })));
  const seconds = plan.reduce((sum, { run }) => sum + run.seconds + AROUND_S, 0) * rounds;
  console.error(`${plan.length * rounds} runs, about ${duration(seconds)}${quick ? ', quick' : ''}`);
  /** @type {Outcome[]} */
  const outcomes = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const { each, run } of plan) {
      const { key, label } = run;
      const outcome = { name: each.name, key, label, round };
      try {
        const result = await inLab(options, (lab) => run.run(contextOf(options, lab)), run.lab ?? {});
        outcomes.push({ ...outcome, result });
        const brief = each.brief?.(result) ?? 'done';
        console.error(`${outcomes.length}/${plan.length * rounds} ${each.name} ${label}: ${brief}`);
      } catch (error) {
        outcomes.push({ ...outcome, error: String(/** @type {Error} */ (error).stack) });
        console.error(`${outcomes.length}/${plan.length * rounds} ${each.name} ${label}: FAILED\n`, error);
      }
    }
  }
  return outcomes;
}

/** @param {Options} options @param {Outcome[]} outcomes */
function tell(options, outcomes) {
  /** @type {import('../paths/cases').Verdict[]} */
  const verdicts = [];
  for (const each of options.chosen) {
    const own = outcomes.filter(({ name, result }) => name === each.name && result !== undefined);
    if (own.length === 0) continue;
    console.log(`\n${each.title}\n\n${each.table(own, options)}`);
    verdicts.push(...each.verdicts(own, options));
  }
  const failed = outcomes.filter(({ error }) => error);
  conclude(
    verdicts,
    failed.map(({ name, label }) => `${name} ${label}`)
  );
  return verdicts;
}

async function main() {
  const options = read();
  await runQuestion(async () => {
    const facts = conditions(options);
    console.log(list(facts));
    const outcomes = await runAll(options);
    const verdicts = tell(options, outcomes);
    save(options.out, { conditions: facts, verdicts, outcomes });
  });
}

main();
