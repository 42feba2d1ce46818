'use strict';
// Measures a gateway that moves past access points, as in the MPTCP router paper: throughput, gaps and losses with one
// link, with the other one as backup, with both, and with roles by the signal and its forecast.
//   node bench/questions/mobility.js --help

const fs = require('node:fs');
const path = require('node:path');
const { fail, readArguments } = require('../harness/arguments');
const { gatewayEnv, loadTexts, pinning } = require('../options/options');
const { duration } = require('../report/progress');
const { list, save } = require('../report/report');
const { conditions } = require('../paths/conditions');
const { AROUND_S, conclude, congestionOf, congestionText, runQuestion } = require('../paths/program');
const { contenders, travel } = require('../mobility/contenders');
const { csv, plot, rate, table, verdicts, waysOf } = require('../mobility/findings');
const { MODEL } = require('../mobility/signal');
const { CORRIDOR_M, LTE_MBIT, traceOf } = require('../mobility/walk');

/** @typedef {import('../mobility/findings').Outcome} Outcome */

/** @type {Record<string, { points: number, second: 'wifi' | 'lte', what: string }>} */
const scenarios = {
  paper: {
    points: 2,
    second: 'wifi',
    what: 'two access points at the ends of the floor, one for each radio: no hand-over, but links without signal'
  },
  roam: {
    points: 4,
    second: 'wifi',
    what: 'four access points, two for each radio, with hand-overs and new addresses'
  },
  lte: {
    points: 3,
    second: 'lte',
    what: `three access points for the first radio; the second link has ${LTE_MBIT} Mbit/s everywhere`
  }
};

const intro = `Usage: node bench/questions/mobility.js [options]

A gateway goes along a corridor of ${CORRIDOR_M} m and back, past access points, and sends over two links to mosquitto (TLS 1.3);
gateway and cloud in separate network namespaces (needs root). Scenarios:
${Object.entries(scenarios)
  .map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`)
  .join('\n')}
Systems:
${contenders.map(({ name, what }) => `  ${name.padEnd(10)} ${what}`).join('\n')}`;

/** @param {string} text @param {string[]} known @param {string} option @returns {string[]} */
function chosenOf(text, known, option) {
  const names = text.split(',').filter(Boolean);
  for (const name of names) {
    if (!known.includes(name)) fail(`--${option}: '${name}' is not known. See --help.`);
  }
  return known.filter((name) => names.length === 0 || names.includes(name));
}

function read() {
  const { pin, env, out } = loadTexts;
  const options = readArguments(intro, {
    numbers: {
      rounds: ['3', 1, 20, 'each round runs each system once, on the way of the next seed'],
      seed: ['1', 1, 1e6, 'of the first way'],
      seconds: ['60', 10, 600, 'for the way there and back; 120 is a walk, 60 a run'],
      share: [
        '1',
        0.05,
        1,
        'of the rates and of the load: what other stations leave, or a slow machine manages'
      ],
      'roam-ms': ['300', 0, 10000, 'time of a hand-over in which nothing passes']
    },
    texts: {
      scenarios: ['paper,roam', 'comma-separated'],
      systems: ['', 'comma-separated; empty = all'],
      congestion: congestionText,
      plots: ['', 'folder for a CSV file and a plot (SVG) of each round'],
      pin,
      env,
      out
    },
    flags: { quick: 'one way of 10 s, two systems: a functional check, not a measurement' }
  });
  const quick = options.flag('quick');
  const systems = chosenOf(
    options.text('systems') || (quick ? 'tcp1,forecast' : ''),
    contenders.map(({ name }) => name),
    'systems'
  );
  return {
    scenarios: chosenOf(quick ? 'roam' : options.text('scenarios'), Object.keys(scenarios), 'scenarios'),
    contenders: contenders.filter(({ name }) => systems.includes(name)),
    rounds: quick ? 1 : options.number('rounds'),
    seed: options.number('seed'),
    seconds: quick ? 10 : options.number('seconds'),
    warmup: quick ? 1 : 2,
    roamMs: options.number('roam-ms'),
    share: options.number('share'),
    quick,
    plots: options.text('plots'),
    out: options.text('out'),
    congestion: congestionOf(options.text('congestion')),
    env: gatewayEnv(options.text('env')),
    ...pinning(options.text('pin'))
  };
}

/** @typedef {ReturnType<typeof read>} Options */

/** @param {Options} options @returns {Promise<Outcome[]>} */
async function runAll(options) {
  const { rounds, seconds, warmup, roamMs, share, gatewayCpus, harnessCpus } = options;
  const congestion = options.congestion && { 'seganet-uplink-broker.congestion': options.congestion };
  const env = { ...congestion, ...options.env };
  const count = rounds * options.scenarios.length * options.contenders.length;
  console.error(`${count} runs, about ${duration(count * (seconds + AROUND_S))}`);
  /** @type {Outcome[]} */
  const outcomes = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const scenario of options.scenarios) {
      const { points, second } = scenarios[scenario];
      const seed = options.seed + round;
      const steps = traceOf({ seed, points, second, seconds, roamMs, share });
      for (const contender of options.contenders) {
        const outcome = { scenario, name: contender.name, round, seed, steps };
        try {
          const plan = { seconds, warmup, env, gatewayCpus, harnessCpus };
          const result = await travel(contender, steps, plan, share);
          outcomes.push({ ...outcome, result });
          const brief = `${rate({ ...outcome, result }).toFixed(1)} Mbit/s, ${result.zeroSeconds.length} s without arrivals, ${result.lost} lost`;
          console.error(`${outcomes.length}/${count} ${scenario} ${contender.name}, seed ${seed}: ${brief}`);
        } catch (error) {
          outcomes.push({ ...outcome, error: String(/** @type {Error} */ (error).stack) });
          console.error(`${outcomes.length}/${count} ${scenario} ${contender.name}: FAILED\n`, error);
        }
      }
    }
  }
  return outcomes;
}

/** @param {Options} options @param {Outcome[]} outcomes */
function draw({ plots }, outcomes) {
  if (!plots) return;
  fs.mkdirSync(plots, { recursive: true });
  for (const scenario of new Set(outcomes.map((each) => each.scenario))) {
    for (const seed of new Set(outcomes.map((each) => each.seed))) {
      const own = outcomes.filter((each) => each.scenario === scenario && each.seed === seed);
      fs.writeFileSync(path.join(plots, `${scenario}-${seed}.csv`), csv(own));
      fs.writeFileSync(path.join(plots, `${scenario}-${seed}.svg`), plot(own));
    }
  }
}

/** @param {Options} options @param {Outcome[]} outcomes */
function tell(options, outcomes) {
  const all = options.scenarios.flatMap((scenario) => {
    console.log(`\n${scenario}: ${scenarios[scenario].what}\n\n${waysOf(outcomes, scenario)}`);
    console.log(`\n${table(outcomes, scenario)}`);
    return verdicts(outcomes, scenario);
  });
  const failed = outcomes.filter(({ error }) => error);
  conclude(
    all,
    failed.map(({ scenario, name }) => `${scenario} ${name}`)
  );
  return all;
}

async function main() {
  const options = read();
  await runQuestion(async () => {
    const { powerDbm, exponent, sigmaDb, correlationM } = MODEL;
    const facts = {
      ...conditions(options),
      links: `802.11n rates by signal, 20 MHz, one stream (tbf, pfifo_fast of 100 packets); ${powerDbm} dBm, path loss exponent ${exponent}, shadowing ${sigmaDb} dB correlated over ${correlationM} m`,
      watch: '`seganet-paths watch` with a probe per second on each path; the roles as in --help',
      share: `${options.share} of the rates and of the load`,
      way: `${CORRIDOR_M} m and back in ${options.seconds} s; a hand-over takes ${options.roamMs} ms, then the address is another one`
    };
    console.log(list(facts));
    const outcomes = await runAll(options);
    const found = tell(options, outcomes);
    draw(options, outcomes);
    save(options.out, { conditions: facts, verdicts: found, outcomes });
  });
}

main();
