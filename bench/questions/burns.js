'use strict';
// Burns the active machine of a pair again and again, and counts what the cloud never gets: mosquitto, and the gateway
// with its levels of acknowledgement.
//   SEGANET_KAFKA=$(.ci/kafka) node native/node/run.js bench/questions/burns.js --help

const { readOptions, fail } = require('../options/options');
const { kafkaTools } = require('../harness/kafka/broker');
const { randomOf } = require('../harness/random');
const { haveTool } = require('../harness/tools');
const { conditions, markdown, list, save, fixed } = require('../report/report');
const { PAIRS, burnAll } = require('../runs/burn');

const intro = `Usage: SEGANET_KAFKA=$(.ci/kafka) node native/node/run.js bench/questions/burns.js [options]

Two machines have one address, which moves to the second one --takeover ms after the first one burned: SIGKILL, and its
folder is deleted. Then a third machine becomes the standby, and so on: --burns times. Before every second burn the cloud
goes away, and comes back after the takeover (of Kafka's three brokers, two are killed). Each pair gets the same seeded
moments. Devices keep their sessions and send again what was not acknowledged. Pairs: ${Object.keys(PAIRS).join(', ')}.
'lost' are records whose device has a PUBACK and that the cloud never got.`;

/** Burns lie in the middle of the load. */
const EARLIEST_MS = 2500;
const RANGE_MS = 3000;
/** Before the burn. */
const AWAY_MS = { least: 500, range: 2000 };
const LOAD_S = 8;
const DRAIN_S = 120;

/** @param {number} burns @param {number} seed @returns {import('../runs/burn').Burn[]} */
function scheduleOf(burns, seed) {
  const random = randomOf(seed);
  return Array.from({ length: burns }, (_none, burn) => {
    const at = EARLIEST_MS + random(RANGE_MS);
    const away = AWAY_MS.least + random(AWAY_MS.range);
    return burn % 2 === 0 ? { at } : { at, awayFrom: at - away };
  });
}

/** @param {string} name @param {import('../runs/burn').Judged} judged @param {import('../runs/burn').Burn[]} schedule */
function row(name, { loads, outOfOrder, copies, sameKey }, schedule) {
  const cells = [false, true].flatMap((isAway) => {
    const some = loads.filter((_load, i) => (schedule[i].awayFrom !== undefined) === isAway);
    const sum = (/** @type {'acked' | 'lost'} */ field) => some.reduce((all, each) => all + each[field], 0);
    const [acked, lost] = [sum('acked'), sum('lost')];
    const burns = some.filter((each) => each.lost > 0).length;
    const share = fixed((lost / Math.max(1, acked)) * 100, 2);
    return [acked, `**${lost}** (${share} %)`, `${burns} of ${some.length}`];
  });
  const longest = Math.max(...loads.map(({ longestMs }) => longestMs)) / 1000;
  return [PAIRS[name].title, ...cells, fixed(longest, 1), outOfOrder, copies, sameKey];
}

const head = ['pair', 'cloud there: acknowledged', 'lost', 'burns with loss'];
head.push('cloud away: acknowledged', 'lost', 'burns with loss', 'longest wait for a PUBACK s');
head.push('out of order', 'copies', 'of these under the same key');

async function main() {
  const { profile, out, own } = readOptions(intro, {
    defaults: {
      devices: '50',
      rate: '6',
      seconds: String(LOAD_S),
      warmup: '0',
      repeat: '1',
      systems: '',
      pin: 'none'
    },
    numbers: {
      burns: ['20', 2, 500, 'machines of each pair that burn'],
      takeover: ['1000', 0, 10000, 'ms from the burn to the new place of the address'],
      seed: ['1', 0, 2 ** 31, 'of the moments']
    },
    texts: { pairs: [Object.keys(PAIRS).join(','), 'some of them'] }
  });
  const names = own.pairs.split(',');
  for (const name of names) if (!PAIRS[name]) fail(`--pairs: '${name}' is not known. See --help.`);
  if (profile.seconds < LOAD_S) fail(`--seconds must be at least ${LOAD_S}`);
  // Every record is acknowledged, however long the cloud needs to come back.
  profile.drain = DRAIN_S;
  const missing = [...(names.includes('kafka') ? kafkaTools() : []), 'mosquitto'].filter(
    (tool) => !haveTool(tool)
  );
  if (missing.length > 0) fail(`needs ${missing.join(', ')}`);
  const most = 50000 / profile.devices;
  if (own.burns > most) fail(`--burns must be at most ${Math.floor(most)} with ${profile.devices} devices`);
  const schedule = scheduleOf(own.burns, own.seed);
  const facts = {
    ...conditions(profile, own.burns),
    burns: `${own.burns} of each pair, seed ${own.seed}; the address moves after ${own.takeover} ms`
  };
  /** @type {Record<string, import('../runs/burn').Judged>} */
  const judged = {};
  for (const name of names) {
    const given = {
      profile,
      takeoverMs: own.takeover,
      told: (/** @type {string} */ text) => console.error(text)
    };
    judged[name] = await burnAll(name, schedule, given);
  }
  const rows = names.map((/** @type {string} */ name) => row(name, judged[name], schedule));
  console.log(`${list(facts)}\n\n${markdown(head, rows)}`);
  save(out, { conditions: facts, profile, schedule, judged });
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
