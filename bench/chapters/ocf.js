'use strict';
// The OCF cloud: the IoTivity Cloud paper's experiment with signed-in devices, and the cost of sessions and discovery.

const { kafkaTools } = require('../harness/kafka/broker');
const { needsNode } = require('../harness/lacking');
const { hardFileLimit } = require('../harness/proc');
const { haveTool } = require('../harness/tools');
const { partsChapter } = require('../options/parts');
const { columnTable, ratioOf, resultsOf } = require('../report/report');
const { generatorWarnings, limits } = require('../report/warnings');

/**
 * @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {import('../options/chapter').Case} Case @typedef {import('../options/chapter').CaseContext} CaseContext
 */

/** The paper's experiment. */
const paper = { devices: [1, 10, 100, 500, 1000], rate: 15000, burst: 25000 };
const usual = [100];
const sizes = { storm: 1000, idle: 10000, discovery: 100000 };
const LINKS = 8;
/** Devices of a user in the store of the discovery; controllers that ask; requests per second of all of them. */
const find = { ofUser: 10, controllers: 100, rate: 200, type: 'bench.type.3' };
const WARM_SESSIONS = 1000;
const SETTLE_MS = 10000;
/** Open files beside those of the connections. */
const SPARE_FILES = 512;
/** Approximate seconds of a case beside its load: start, sign-up, late arrivals. */
const aroundS = 20;

const ways = /** @type {const} */ ({
  mqtt: { kafka: false, shared: false, title: 'a connection for each device, into mosquitto' },
  'one-connection': { kafka: false, shared: true, title: 'all devices on one connection, into mosquitto' },
  kafka: { kafka: true, shared: false, title: 'a connection for each device, into Kafka (acks=all)' }
});
/** @typedef {keyof typeof ways} Way */
const wayNames = /** @type {Way[]} */ (Object.keys(ways));

/** @param {Plan} plan @returns {number[]} */
const counts = (plan) => (plan.sizes.devices ? [plan.sizes.devices] : plan.all ? paper.devices : usual);

/** @param {Plan} plan @param {number} full */
const sized = (plan, full) => plan.sizes.devices ?? (plan.quick ? Math.min(full, 20) : full);

/** The length of the plan includes the warm-up. @param {Plan} plan */
const secondsOf = ({ seconds, warmup }) => seconds - warmup;

/** @param {Plan} plan */
const rateOf = (plan) => (plan.quick ? 500 : paper.rate);

// The modules with the store need a newer Node.js than other chapters.
const modules = () => ({
  ...require('../ocf/ocf-stage'),
  ...require('../ocf/posts'),
  ...require('../ocf/sessions'),
  ...require('../ocf/directory')
});

/** @returns {string} '' if Kafka can run here */
function kafkaProblem() {
  const missing = kafkaTools().filter((tool) => !haveTool(tool));
  return missing.length > 0
    ? `It needs ${missing.join(', ')}. In a checkout: export SEGANET_KAFKA=$(.ci/kafka)`
    : '';
}

/** @param {Plan} plan @returns {string} '' if so many sessions are possible */
function filesProblem(plan) {
  const wanted = sized(plan, sizes.idle) + warmOf(plan) + SPARE_FILES;
  const limit = hardFileLimit();
  return limit >= wanted
    ? ''
    : `It needs ${wanted} open files, and the hard limit is ${limit}: raise it with ulimit -Hn as root, or use fewer sessions (--devices).`;
}

/** @param {Plan} plan */
const warmOf = (plan) => Math.min(WARM_SESSIONS, sized(plan, sizes.idle));

/**
 * @param {Plan} plan @param {object} options of startOcf()
 * @param {(stage: import('../ocf/ocf-stage').OcfStage) => Promise<any>} work
 */
async function onStage(plan, options, work) {
  const stage = await modules().startOcf(plan, options);
  try {
    return await work(stage);
  } finally {
    await stage.close();
  }
}

/** @param {Plan} plan @param {Way} way @param {number} devices @param {{ burst?: number }} [more] @returns {Case} */
function postCase(plan, way, devices, { burst } = {}) {
  const { kafka, shared } = ways[way];
  const { warmup } = plan;
  const seconds = secondsOf(plan);
  return {
    key: `${burst ? 'burst' : 'poisson'}-${devices}/${way}`,
    label: `${devices} devices, ${burst ? `${burst} posts at once` : `${rateOf(plan)} posts/s`}, ${way}`,
    seconds: (burst ? 5 : seconds) + warmup + aroundS,
    run: ({ signal }) =>
      onStage(plan, { kafka, connections: devices, signal }, async (stage) => {
        const { posts, settle } = modules();
        const run = await posts(stage, { devices, shared, rate: rateOf(plan), burst, seconds, warmup });
        return { load: run.load, arrived: await settle(stage, run) };
      })
  };
}

/** @param {Plan} plan @returns {Case} */
function stormCase(plan) {
  const devices = sized(plan, sizes.storm);
  return {
    key: `storm-${devices}`,
    label: `${devices} devices sign up at once, then sign in and publish ${LINKS} links at once`,
    seconds: aroundS,
    run: ({ signal }) =>
      onStage(plan, { connections: devices, signal }, (stage) =>
        modules().storm(stage, { devices, links: LINKS })
      )
  };
}

/** @param {Plan} plan @returns {Case} */
function idleCase(plan) {
  const sessions = sized(plan, sizes.idle);
  const warm = warmOf(plan);
  return {
    key: `idle-${sessions}`,
    label: `${sessions} idle sessions`,
    seconds: aroundS + sessions / 400,
    run: async ({ signal }) => {
      const { fillStore, idle } = modules();
      /** @type {Awaited<ReturnType<typeof fillStore>> | undefined} */
      let filled;
      const devices = sessions + warm;
      const fill = async (/** @type {string} */ file) =>
        (filled = await fillStore(file, { devices, links: 1, ofUser: find.ofUser, accounts: devices }));
      return onStage(plan, { connections: devices, fill, signal }, (stage) =>
        idle(stage, { accounts: filled?.accounts ?? [], warm, settleMs: plan.quick ? 500 : SETTLE_MS })
      );
    }
  };
}

/** @param {Plan} plan @returns {Case} */
function discoveryCase(plan) {
  const devices = sized(plan, sizes.discovery);
  const controllers = Math.min(find.controllers, Math.ceil(devices / find.ofUser));
  return {
    key: `discovery-${devices}`,
    label: `${controllers} controllers find links of a type among ${devices} devices × ${LINKS} links`,
    seconds: plan.seconds + aroundS + devices / 2000,
    run: async ({ signal }) => {
      const { discovery, fillStore } = modules();
      /** @type {any} */
      let filled;
      const fill = async (/** @type {string} */ file) =>
        (filled = await fillStore(file, {
          devices,
          links: LINKS,
          ofUser: find.ofUser,
          accounts: controllers
        }));
      return onStage(plan, { connections: controllers, fill, signal }, async (stage) => {
        const { accounts, ...store } = filled;
        const { rate, type } = find;
        const { warmup } = plan;
        const seconds = secondsOf(plan);
        return { store, ...(await discovery(stage, { accounts, type, rate, seconds, warmup })) };
      });
    }
  };
}

/** @param {Way} way @returns {import('../options/parts').Part} */
const postPart = (way) => ({
  lacking: () => (ways[way].kafka ? kafkaProblem() : ''),
  cases: (plan) => counts(plan).map((devices) => postCase(plan, way, devices))
});

/** @type {Record<string, import('../options/parts').Part>} */
const parts = {
  ...Object.fromEntries(wayNames.map((way) => [way, postPart(way)])),
  burst: {
    cases: (plan) => {
      const burst = plan.quick ? 500 : paper.burst;
      return counts(plan).map((devices) => postCase(plan, 'mqtt', devices, { burst }));
    }
  },
  storm: { cases: (plan) => [stormCase(plan)] },
  idle: { lacking: filesProblem, cases: (plan) => [idleCase(plan)] },
  discovery: { cases: (plan) => [discoveryCase(plan)] }
};

/** @param {number | undefined} us */
const ms = (us) => (us === undefined ? undefined : us / 1000);

/** @typedef {import('../report/report').Columns} Columns */

/** @type {Columns} */
const postColumns = [
  ['offered/s', ({ load }) => load.sent / load.seconds, 0],
  ['answered/s', ({ load }) => load.answeredInTime / load.seconds, 0],
  ['2.04: p50 ms', ({ load }) => ms(load.answerUs.p50), 2],
  ['p99 ms', ({ load }) => ms(load.answerUs.p99), 2],
  ['max ms', ({ load }) => ms(load.answerUs.max), 1],
  ['arrival: p50 ms', ({ arrived }) => ms(arrived.arrivalUs?.p50), 2],
  ['p99 ms', ({ arrived }) => ms(arrived.arrivalUs?.p99), 2],
  ['gateway CPU s', ({ load }) => load.gatewayCpuSeconds, 1],
  ['cores', ({ load }) => load.cores, 2],
  ['RSS MB', ({ load }) => load.rssMB, 0],
  ['request B', ({ load }) => load.requestBytes, 0],
  ['answer B', ({ load }) => load.responseBytes, 0],
  ['refused', ({ load }) => load.refused, 0],
  ['unanswered', ({ load }) => unanswered(load), 0],
  ['lost', ({ arrived }) => arrived.lost, 0],
  ['dup', ({ arrived }) => arrived.duplicates, 0]
];

/** @type {Columns} */
const burstColumns = [
  ['accepted/s', ({ load }) => (load.sent * 1e6) / load.lastSentUs, 0],
  ['last request sent, ms', ({ load }) => ms(load.lastSentUs), 1],
  ['last 2.04, ms', ({ load }) => ms(load.lastAnsweredUs), 1],
  ['answered/s', ({ load }) => (load.answered * 1e6) / load.lastAnsweredUs, 0],
  ['most unanswered of a connection', ({ load }) => load.window, 0],
  ['refused', ({ load }) => load.refused, 0],
  ['unanswered', ({ load }) => unanswered(load), 0],
  ['lost', ({ arrived }) => arrived.lost, 0]
];

/** @type {Columns} */
const stormColumns = [
  ['sign-up: last answer s', ({ signUp }) => signUp.seconds, 2],
  ['p50 s', ({ signUp }) => signUp.helloUs.p50 / 1e6, 2],
  ['gateway CPU s', ({ signUp }) => signUp.cpuSeconds, 2],
  ['sign-in and publish: last answer s', ({ signIn }) => signIn.seconds, 2],
  ['p50 s', ({ signIn }) => signIn.helloUs.p50 / 1e6, 2],
  ['gateway CPU s', ({ signIn }) => signIn.cpuSeconds, 2]
];

/** @type {Columns} */
const idleColumns = [
  ['sessions before', ({ warm }) => warm, 0],
  ['RSS MB then', ({ before }) => before.rss / 1e6, 1],
  ['RSS MB with all', ({ after }) => after.rss / 1e6, 1],
  ['KB RSS a session', ({ rssBytes }) => rssBytes / 1024, 2],
  ['KB private a session', ({ privateBytes }) => privateBytes / 1024, 2],
  ['lost connections', ({ connectionLosses }) => connectionLosses, 0]
];

/** @type {Columns} */
const discoveryColumns = [
  ['requests/s', ({ load }) => load.answeredInTime / load.seconds, 0],
  ['p50 ms', ({ load }) => ms(load.answerUs.p50), 2],
  ['p99 ms', ({ load }) => ms(load.answerUs.p99), 2],
  ['max ms', ({ load }) => ms(load.answerUs.max), 1],
  ['answer B', ({ load }) => load.responseBytes, 0],
  ['gateway cores', ({ load }) => load.cores, 2],
  ['refused', ({ load }) => load.refused, 0],
  ['store MB', ({ store }) => store.bytes / 1e6, 0],
  ['store made in s', ({ store }) => store.seconds, 0]
];

/** @param {any} load */
const unanswered = (load) => load.sent + load.unsent - load.answered - load.refused;

/**
 * @param {Outcome[]} outcomes @param {RegExp} keys the first group is the number in the first column
 * @param {string} first its title @param {Columns} columns
 */
function table(outcomes, keys, first, columns) {
  const found = [...new Set(outcomes.filter(({ result }) => result).map(({ key }) => key))]
    .flatMap((key) => {
      const match = keys.exec(key);
      return match ? [{ key, count: Number(match[1]) }] : [];
    })
    .sort((a, b) => a.count - b.count);
  const groups = found.map(({ key, count }) => ({ name: [count], results: resultsOf(outcomes, key) }));
  return columnTable([first], groups, columns);
}

/** Figures with a goal. @type {[RegExp, string, string, (result: any) => number | undefined][]} */
const goals = [
  [/^poisson-(\d+)\/mqtt$/, 'p99 of 2.04 in ms', '≤ 10', ({ load }) => ms(load.answerUs.p99)],
  [
    /^poisson-(\d+)\/one-connection$/,
    'p99 of 2.04 in ms, one connection',
    '≤ 10',
    ({ load }) => ms(load.answerUs.p99)
  ],
  [/^poisson-(\d+)\/kafka$/, 'p99 of 2.04 in ms, Kafka', '≤ 25', ({ load }) => ms(load.answerUs.p99)],
  [
    /^poisson-(\d+)\/kafka$/,
    'p99 of arrival in Kafka in ms',
    '≤ 25',
    ({ arrived }) => ms(arrived.arrivalUs?.p99)
  ],
  [
    /^poisson-(\d+)\/[\w-]+$/,
    'requests without 2.04, and acknowledged records lost',
    '≤ 0',
    ({ load, arrived }) => unanswered(load) + load.refused + arrived.lost
  ],
  [/^storm-(\d+)$/, 'sign-up at once, s to the last answer', '≤ 2', ({ signUp }) => signUp.seconds],
  [
    /^storm-(\d+)$/,
    'sign-in and publish at once, s to the last answer',
    '≤ 2',
    ({ signIn }) => signIn.seconds
  ],
  [/^idle-(\d+)$/, 'KB of resident memory an idle session', '≤ 8', ({ rssBytes }) => rssBytes / 1024],
  [/^discovery-(\d+)$/, 'p99 of discovery in ms', '≤ 2', ({ load }) => ms(load.answerUs.p99)]
];

/** @param {Outcome[]} outcomes @returns {import('../options/chapter').Ratio[]} */
function ratios(outcomes) {
  const keys = [...new Set(outcomes.map(({ key }) => key))];
  return goals.flatMap(([pattern, name, target, value]) =>
    keys.flatMap((key) => {
      const match = pattern.exec(key);
      if (!match) return [];
      const way = key.split('/')[1];
      const own = way && pattern.source.includes('[') ? ` (${way})` : '';
      const title = `OCF, ${match[1]} devices: ${name}${own}`;
      return ratioOf(title, resultsOf(outcomes, key).map(value), target);
    })
  );
}

/** @param {Outcome[]} outcomes @returns {string[]} */
function warnings(outcomes) {
  return outcomes.flatMap(({ key, round, result }) => {
    const load = result?.load;
    if (!load) return [];
    const where = `${key}, round ${round + 1}`;
    const { arrived } = result;
    const span = key.startsWith('burst') ? load.lastAnsweredUs / 1e6 : load.seconds;
    const busy = (key.startsWith('burst') ? load.wholeCpuSeconds : load.cpuSeconds) / span;
    const found = generatorWarnings(where, busy > limits.harness);
    const missing = unanswered(load);
    if (load.refused > 0)
      found.push(`${where}: ${load.refused} requests were refused (${load.unavailable} with 5.03).`);
    if (missing > 0) found.push(`${where}: ${missing} requests had no answer.`);
    if (arrived?.lost > 0) found.push(`${where}: ${arrived.lost} acknowledged records were lost.`);
    if (arrived?.broken > 0) found.push(`${where}: ${arrived.broken} records were broken.`);
    if (load.connectionLosses > 0) found.push(`${where}: ${load.connectionLosses} connections were lost.`);
    return found;
  });
}

const intro = [
  `Devices that have signed up and signed in by OCF's interface (CoAP over TCP, no TLS) post to \`/oic/ps/{topic}\`. A post is answered`,
  `with 2.04 when its record is safe: in the cloud, or on disk. Posts come at random times (Poisson, ${paper.rate}/s in all); latencies count`,
  'from the intended time, also of posts that wait because the connection has too many unanswered ones. The gateway has one worker and',
  'one core; generator, cloud and sink, or Kafka, share the others. Kafka has one broker with 1 GiB of heap, as its own start script',
  'gives it, and a topic with 4 partitions. CPU and memory are those of the whole gateway during the load.',
  'In the paper the table is 252,269 to 595,406 messages a second for 1 to 1,000 devices at an offered rate of 15,000, which cannot',
  'be a sustained rate; so this chapter gives two: the sustained Poisson load, and 25,000 posts at once.'
].join('\n');

/** @param {Outcome[]} outcomes */
function sections(outcomes) {
  /** @type {[string, string][]} */
  const all = [
    ...wayNames.map(
      (way) =>
        /** @type {[string, string]} */ ([
          `Poisson, ${ways[way].title}`,
          table(outcomes, new RegExp(`^poisson-(\\d+)/${way}$`), 'devices', postColumns)
        ])
    ),
    ['Posts at once', table(outcomes, /^burst-(\d+)\/mqtt$/, 'devices', burstColumns)],
    ['Storm', table(outcomes, /^storm-(\d+)$/, 'devices', stormColumns)],
    ['Idle sessions', table(outcomes, /^idle-(\d+)$/, 'sessions', idleColumns)],
    [
      `Discovery: the links of one of ${LINKS} types, of ${find.ofUser} devices of the user`,
      table(outcomes, /^discovery-(\d+)$/, 'devices in the store', discoveryColumns)
    ]
  ];
  return all.filter(([, text]) => text).flatMap(([title, text]) => [`### ${title}`, text]);
}

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'ocf',
  title: 'OCF cloud',
  what: 'The IoTivity Cloud paper’s experiment with signed-in devices, into mosquitto and into Kafka; bursts, storms of sign-ins, idle sessions, discovery. --systems: mqtt, one-connection, kafka, burst, storm, idle, discovery.',
  ...partsChapter(parts, { lacking: () => needsNode('ocf') }),
  report: (outcomes) => ({
    heading: 'OCF cloud',
    markdown: [intro, ...sections(outcomes)].join('\n\n'),
    ratios: ratios(outcomes),
    plots: [],
    warnings: warnings(outcomes)
  })
};
