'use strict';
// The IoTivity Cloud paper's second scenario, which its authors left to future work: controllers observe the devices
// that post, and ask them, with the memory of each part and several processes of load.

const { kafkaTools } = require('../harness/kafka/broker');
const { needsNode } = require('../harness/lacking');
const { haveTool } = require('../harness/tools');
const { partsChapter } = require('../options/parts');
const { columnTable, markdown, ratioOf, resultsOf } = require('../report/report');
const { generatorWarnings, limits } = require('../report/warnings');

/**
 * @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {import('../options/parts').PartCase} PartCase @typedef {import('../report/report').Columns} Columns
 */

/** The paper's first scenario: largest messages per second by devices, at this offered rate. */
const paper = {
  rate: 15000,
  perSecond: [
    [1, 252269.2],
    [10, 465519.2],
    [100, 562967.7],
    [500, 595406.2],
    [1000, 583455.1]
  ]
};
const counts = [0, 1, 10, 50, 100];
const withKafka = 10;
const usualDevices = 100;
/** A connection has at most 256 observations. */
const mostDevices = 240;
/** Notifications per second of all controllers, and requests, that the gateway must manage without loss. */
const steadyRate = 10000;
const requestRate = 2000;
/** Rounds beyond these measure nothing, seconds of each load and of its warm-up are at most these. */
const most = { rounds: 3, seconds: 4, warmup: 1 };
/** First numbers of the devices, which have other topics in each load. */
const firsts = { steady: 0, paper: 1000 };
/** Approximate seconds of a case beside its loads. */
const aroundS = 18;

/** @param {Plan} plan */
const devicesOf = (plan) => Math.min(plan.sizes.devices ?? (plan.quick ? 4 : usualDevices), mostDevices);

/** @param {Plan} plan */
const timesOf = ({ seconds, warmup, quick }) =>
  quick
    ? { seconds: 1, warmup: 0.5 }
    : { seconds: Math.min(seconds - warmup, most.seconds), warmup: Math.min(warmup, most.warmup) };

/**
 * @param {Plan} plan @param {number} controllers @param {boolean} kafka @param {AbortSignal} signal
 */
async function measure(plan, controllers, kafka, signal) {
  // The modules with the store need a newer Node.js than other chapters.
  const { startOcf } = require('../ocf/ocf-stage');
  const { Fleet, asked, observed } = require('../ocf/controllers');
  const { kafkaArrivals } = require('../ocf/kafka-arrivals');
  const devices = devicesOf(plan);
  const times = timesOf(plan);
  const scale = plan.quick ? 0.02 : 1;
  const stage = await startOcf(plan, { kafka, connections: 2 * devices + controllers + 16, signal });
  try {
    const fleet = await Fleet.make(stage, { devices, controllers, firsts: Object.values(firsts) });
    const steady = Math.min(paper.rate, steadyRate / Math.max(1, controllers));
    /** @param {number} first @param {number} rate */
    const posts = (first, rate) => observed(fleet, { ...times, first, rate: rate * scale });
    const result = {
      devices,
      ...(controllers > 0 && {
        steady: await posts(firsts.steady, steady),
        requests: await asked(fleet, { ...times, rate: requestRate * scale })
      }),
      paper: await posts(firsts.paper, paper.rate)
    };
    const made = stage.stage.made;
    if (stage.kafka) {
      const { lost } = await kafkaArrivals(stage.kafka, made, () => true);
      await stage.stage.finish();
      return { ...result, lost };
    }
    const acked = made.reduce((sum, { issued, unacked }) => sum + issued - unacked.length, 0);
    await stage.stage.settle(acked, 4000, 60000);
    const { verdict } = await stage.stage.finish();
    return { ...result, lost: verdict?.lost };
  } finally {
    await stage.close();
  }
}

/** @param {Plan} plan @param {number} controllers @param {boolean} [kafka] @returns {PartCase} */
function caseOf(plan, controllers, kafka = false) {
  const { seconds, warmup } = timesOf(plan);
  return {
    key: `controllers-${controllers}/${kafka ? 'kafka' : 'mqtt'}`,
    label: `${controllers} controllers of ${devicesOf(plan)} devices, into ${kafka ? 'Kafka' : 'mosquitto'}`,
    seconds: aroundS + (kafka ? 15 : 0) + (controllers > 0 ? 3 : 1) * (seconds + warmup),
    isLong: kafka,
    run: ({ round, signal }) =>
      round < most.rounds ? measure(plan, controllers, kafka, signal) : Promise.resolve({ isLeftOut: true })
  };
}

/** @returns {string} '' if Kafka can run here */
function kafkaProblem() {
  const missing = kafkaTools().filter((tool) => !haveTool(tool));
  return missing.length > 0
    ? `It needs ${missing.join(', ')}. In a checkout: export SEGANET_KAFKA=$(.ci/kafka)`
    : '';
}

/** @type {Record<string, import('../options/parts').Part>} */
const parts = {
  mqtt: {
    cases: (plan) => (plan.quick ? [0, 3] : counts).map((controllers) => caseOf(plan, controllers))
  },
  kafka: {
    lacking: kafkaProblem,
    cases: (plan) => [caseOf(plan, plan.quick ? 3 : withKafka, true)]
  }
};

/** @param {number | undefined} us */
const ms = (us) => (us === undefined ? undefined : us / 1000);

/** @param {any} load @param {string} name @returns {number} cores of threads with this name or beginning */
const thread = (load, name) =>
  load.threads
    .filter((/** @type {{ name: string }} */ each) => each.name.startsWith(name))
    .reduce((/** @type {number} */ sum, /** @type {{ cores: number }} */ { cores }) => sum + cores, 0);

/** @param {any} load @returns {number} requests without a 2.xx */
const unanswered = (load) => load.sent + load.unsent - load.answered;

/** @param {string} field of the result: steady, requests or paper @returns {Columns} */
const partColumns = (field) => [
  ['gateway cores', (result) => result[field].cores.gateway, 2],
  ['JavaScript', (result) => thread(result[field], 'MainThread'), 2],
  ['worker', (result) => thread(result[field], 'seganet-w'), 2],
  ['gateway MB', (result) => result[field].rssMB.gateway, 0],
  ['mosquitto or Kafka MB', (result) => result[field].rssMB.mosquitto ?? result[field].rssMB.kafka, 0]
];

/** @param {string} field steady or paper @returns {Columns} */
const noticeColumns = (field) => [
  ['posts/s', (result) => result[field].answeredInTime / result[field].seconds, 0],
  ['2.04: p50 ms', (result) => ms(result[field].answerUs.p50), 2],
  ['p99 ms', (result) => ms(result[field].answerUs.p99), 2],
  ['without 2.04', (result) => unanswered(result[field]), 0],
  ['notifications/s', (result) => result[field].noticesInTime / result[field].seconds, 0],
  ['p50 ms', (result) => ms(result[field].noticeUs?.p50), 2],
  ['p99 ms', (result) => ms(result[field].noticeUs?.p99), 2],
  ['replaced by newer %', ({ [field]: load }) => replaced(load), 1]
];

/** @param {any} load @returns {number | undefined} % of the notifications that a later one replaced */
const replaced = ({ expected, skipped }) => (expected > 0 ? (100 * skipped) / expected : undefined);

/** @param {any} load @returns {number} faults of notifications */
const faults = ({ stale, backward, unreadable, failed, connectionLosses, probesLost }) =>
  stale + backward + unreadable + failed + connectionLosses + probesLost;

/** @type {[title: string, field: string, columns: Columns][]} */
const tables = [
  [
    `Each controller observes all devices; ${steadyRate} notifications/s`,
    'steady',
    [
      ...noticeColumns('steady'),
      ...partColumns('steady'),
      ['KB an observation', ({ steady }) => ms(steady.observationBytes), 2]
    ]
  ],
  [
    `Each controller asks devices through the cloud; ${requestRate} requests/s`,
    'requests',
    [
      ['answered/s', ({ requests }) => requests.answeredInTime / requests.seconds, 0],
      ['p50 ms', ({ requests }) => ms(requests.answerUs.p50), 2],
      ['p99 ms', ({ requests }) => ms(requests.answerUs.p99), 2],
      ['without 2.05', ({ requests }) => unanswered(requests), 0],
      ...partColumns('requests')
    ]
  ],
  [
    `The paper's load: ${paper.rate} posts/s, each for all controllers`,
    'paper',
    [
      ...noticeColumns('paper'),
      ['devices with an old value at last', ({ paper: load }) => load.stale, 0],
      ['other requests: p99 ms', ({ paper: load }) => ms(load.probeUs.p99), 1],
      ...partColumns('paper'),
      ['lost', ({ lost }) => lost, 0]
    ]
  ]
];

const KEY = /^controllers-(\d+)\/(\w+)$/;

/** Returns the cases in the order of the tables. @param {Outcome[]} outcomes */
function groupsOf(outcomes) {
  const keys = [
    ...new Set(outcomes.filter(({ result }) => result && !result.isLeftOut).map(({ key }) => key))
  ];
  return keys
    .flatMap((key) => {
      const [, number, way] = KEY.exec(key) ?? [];
      return way ? [{ key, controllers: Number(number), way }] : [];
    })
    .sort((a, b) => b.way.localeCompare(a.way) || a.controllers - b.controllers);
}

/** @param {Outcome[]} outcomes @param {string} field @param {Columns} columns */
function table(outcomes, field, columns) {
  const rows = groupsOf(outcomes).map(({ key, controllers, way }) => ({
    name: [controllers, way === 'kafka' ? 'Kafka' : 'mosquitto'],
    results: resultsOf(outcomes, key).filter((result) => result[field])
  }));
  return columnTable(
    ['controllers', 'into'],
    rows.filter(({ results }) => results.length > 0),
    columns
  );
}

/** Returns the paper's table beside the posts of this chapter. @param {Outcome[]} outcomes */
function paperTable(outcomes) {
  const own = groupsOf(outcomes).map(({ key, controllers, way }) => {
    const [first] = resultsOf(outcomes, key);
    return [
      `here: ${first.devices} devices, ${controllers} controllers, ${way === 'kafka' ? 'Kafka' : 'mosquitto'}`,
      Math.round(first.paper.answeredInTime / first.paper.seconds),
      Math.round(first.paper.noticesInTime / first.paper.seconds)
    ];
  });
  const theirs = paper.perSecond.map(([devices, perSecond]) => [
    `paper: ${devices} device${devices > 1 ? 's' : ''}, no controllers, Kafka`,
    perSecond,
    'not measured'
  ]);
  return markdown(['', 'posts/s at 15,000 offered', 'notifications/s'], [...theirs, ...own]);
}

/** Figures with a goal. @type {[string, string, (result: any, controllers: number) => number | undefined][]} */
const goals = [
  ['p99 of notifications in ms', '≤ 25', ({ steady }) => ms(steady?.noticeUs?.p99)],
  [
    'posts without 2.04, and notifications replaced, old or lost, at that rate',
    '≤ 0',
    ({ steady }) => steady && unanswered(steady) + steady.skipped + faults(steady)
  ],
  ['p99 of requests to devices in ms', '≤ 10', ({ requests }) => ms(requests?.answerUs.p99)],
  ['requests to devices without 2.05', '≤ 0', ({ requests }) => requests && unanswered(requests)],
  [
    'the paper’s load: posts without 2.04, and acknowledged records lost',
    '≤ 0',
    ({ paper: load, lost }) => unanswered(load) + lost
  ],
  [
    'the paper’s load: controllers that end with an old value, failed observations and connections',
    '≤ 0',
    ({ paper: load }, controllers) => (controllers > 0 ? faults(load) : undefined)
  ]
];

/** @param {Outcome[]} outcomes @returns {import('../options/chapter').Ratio[]} */
const ratios = (outcomes) =>
  groupsOf(outcomes).flatMap(({ key, controllers, way }) =>
    goals.flatMap(([name, target, value]) => {
      const values = resultsOf(outcomes, key).map((result) => value(result, controllers));
      if (values.every((each) => each === undefined)) return [];
      return ratioOf(`OCF, ${controllers} controllers (${way}): ${name}`, values, target);
    })
  );

/** @param {Outcome[]} outcomes @returns {string[]} */
function warnings(outcomes) {
  return outcomes.flatMap(({ key, round, result }) => {
    if (!result || result.isLeftOut) return [];
    return ['steady', 'requests', 'paper'].flatMap((field) => {
      const load = result[field];
      if (!load) return [];
      const where = `${key}, ${field}, round ${round + 1}`;
      const found = generatorWarnings(where, load.generatorCores > limits.harness);
      const missing = unanswered(load);
      if (missing > 0)
        found.push(`${where}: ${missing} requests had no 2.xx (${load.refused} were refused).`);
      if (load.stale > 0)
        found.push(`${where}: the last posts of ${load.stale} devices did not reach all controllers.`);
      if (load.failed > 0) found.push(`${where}: ${load.failed} observations ended with an error.`);
      if (load.connectionLosses > 0) found.push(`${where}: ${load.connectionLosses} connections were lost.`);
      return found;
    });
  });
}

const intro = [
  'The IoTivity Cloud paper describes a second scenario, in which controllers get what the devices post, and leaves it to future work,',
  'with the memory of the Cloud Interface and the Message Queue, and a load from several computers. **It has no figures of it**, so its',
  'table of the first scenario is below. Here the devices and the controllers are several processes each (`--pin` gives them the same',
  'cores, the gateway another one). All belong to one user. Each controller has a connection of its own, signs in, and observes the topic',
  'of each device (`/oic/ps/{topic}`, RFC 7641); a notification’s latency counts from the time at which the device intended to post.',
  'Cloud Interface, Resource Directory, Account server and the fan-out of the Message Queue are threads of one process, the gateway.',
  '',
  'Other conditions than in the paper: CoAP over TCP without TLS as there, but one machine in place of four; devices and controllers are',
  'signed in on connections of their own, and not all on one; each post is answered after its record is safe; requests of 109 B.'
].join('\n');

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'ocf-controllers',
  title: 'OCF cloud: controllers',
  what: 'The second scenario of the IoTivity Cloud paper: 1 to 100 controllers observe 100 devices and ask them; memory of each part. --systems: mqtt, kafka.',
  ...partsChapter(parts, { lacking: () => needsNode('ocf-controllers') }),
  report: (outcomes) => ({
    heading: 'OCF cloud: controllers',
    markdown: [
      intro,
      ...tables.flatMap(([title, field, columns]) => {
        const text = table(outcomes, field, columns);
        return text ? [`### ${title}`, text] : [];
      }),
      '### The paper’s table, of its first scenario',
      paperTable(outcomes)
    ].join('\n\n'),
    ratios: ratios(outcomes),
    plots: [],
    warnings: warnings(outcomes)
  })
};
