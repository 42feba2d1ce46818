'use strict';
// CoAP from many connections: the capacity of one worker beside other servers, and the IoTivity Cloud paper's test.

const { runGateway, runServer } = require('../runs/coap-run');
const { servers } = require('../runs/coap-servers');
const { markdown, spread } = require('../report/report');
const { ratio } = require('../runs/side-by-side');
const { limits } = require('../report/warnings');

/**
 * @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {import('../options/chapter').Case} Case @typedef {import('../runs/coap-servers').Transport} Transport
 * @typedef {import('../runs/coap-run').Step} Step
 */

/** The paper's sizes: 109 B per request, 500 connections, 15,000 requests per second. */
const requestBytes = 109;
const paper = { connections: [1, 10, 100, 500, 1000], rate: 15000 };
const window = 4;
/** Latency is measured at this fraction of the capacity. */
const share = 0.6;
/** Approximate seconds for start, stop and late arrivals. */
const aroundS = 12;

/** @type {Transport[]} */
const transports = ['tcp', 'udp'];

const gateways = [
  { name: 'seganet', label: 'SegaNet, answers when safe', env: { 'seganet-batch.flush': 'adaptive' } },
  {
    name: 'seganet-received',
    label: 'SegaNet, answers at once',
    env: { 'seganet-batch.flush': 'adaptive', SEGANET_ACKNOWLEDGE: 'received' }
  }
];

/** @param {Plan} plan */
const connections = (plan) => plan.sizes.devices ?? 500;

/** @param {Plan} plan @param {string} name */
const isChosen = ({ systems }, name) => systems.length === 0 || systems.includes(name);

/**
 * The capacity first, then latency at a fraction of it.
 * @param {Plan} plan @param {Transport} transport
 * @returns {Step[]}
 */
function steps(plan, transport) {
  const devices = connections(plan);
  const common = { devices, transport, 'request-bytes': requestBytes };
  return [
    () => ({ ...common, mode: 'closed', window, seconds: plan.seconds }),
    (/** @type {any} */ most) => ({
      ...common,
      first: devices, // other devices, so that each sequence starts at 0
      rate: Math.max(1, Math.round(share * perSecond(most))),
      seconds: plan.seconds
    })
  ];
}

/** @param {any} load */
const perSecond = (load) => load.answeredInTime / load.seconds;

/** @param {Plan} plan @param {Transport} transport @returns {Case[]} */
function cases(plan, transport) {
  const seconds = 2 * plan.seconds + aroundS;
  const own = gateways.map(({ name, label, env }) => ({
    name,
    label,
    /** @param {import('../options/chapter').CaseContext} context */
    run: ({ signal }) => runGateway(plan, transport, env, steps(plan, transport), signal)
  }));
  const others = servers
    .filter((server) => server.transports.includes(transport) && !server.lacking())
    .map((server) => ({
      name: server.name,
      label: server.label,
      run: () => runServer(plan, server, transport, steps(plan, transport))
    }));
  return [...own, ...others]
    .filter(({ name }) => isChosen(plan, name))
    .map(({ name, label, run }) => ({
      key: `${transport}/${name}`,
      label: `${label}, ${transport.toUpperCase()}`,
      seconds,
      run
    }));
}

/** Returns the paper's own test, open loop. @param {Plan} plan @returns {Case[]} */
function paperCases(plan) {
  const counts = plan.sizes.devices ? [plan.sizes.devices] : plan.all ? paper.connections : [500];
  return counts.flatMap((devices) => {
    /** @type {Step[]} */
    const step = [
      () => ({ devices, rate: paper.rate, seconds: plan.seconds, 'request-bytes': requestBytes })
    ];
    const bare = servers.find(({ name, lacking }) => name === 'bare' && !lacking());
    const of = (/** @type {string} */ name) => ({
      key: `paper-${devices}/${name}`,
      label: `${name}, ${devices} connections, ${paper.rate}/s`,
      seconds: plan.seconds + aroundS
    });
    return [
      {
        ...of('seganet'),
        run: (/** @type {any} */ { signal }) => runGateway(plan, 'tcp', gateways[0].env, step, signal)
      },
      ...(bare ? [{ ...of('bare'), run: () => runServer(plan, bare, 'tcp', step) }] : [])
    ].filter(({ key }) => isChosen(plan, key.split('/')[1]));
  });
}

/** @param {number | undefined} us */
const ms = (us) => (us === undefined ? undefined : us / 1000);

/** @type {[string, (result: any) => number | undefined, number][]} */
const columns = [
  ['max requests/s', ({ steps: [most] }) => perSecond(most), 0],
  ['server CPU µs/request', ({ steps: [most] }) => (most.serverCpuSeconds * 1e6) / most.answered, 1],
  ['server cores', ({ steps: [most] }) => most.cores, 2],
  ['generator cores', ({ steps: [most] }) => most.cpuSeconds / most.seconds, 2],
  ['at 60 %: p50 ms', ({ steps: [, part] }) => ms(part?.answerUs.p50), 2],
  ['p99 ms', ({ steps: [, part] }) => ms(part?.answerUs.p99), 2],
  [
    'refused',
    ({ steps: all }) => all.reduce((/** @type {number} */ n, /** @type {any} */ s) => n + s.refused, 0),
    0
  ],
  ['lost', ({ verdict }) => verdict?.lost, 0],
  [
    'retransmitted',
    ({ steps: all }) => all.reduce((/** @type {number} */ n, /** @type {any} */ s) => n + s.retransmitted, 0),
    0
  ]
];

/** @param {Outcome[]} outcomes @param {string} key @returns {any[]} */
const resultsOf = (outcomes, key) =>
  outcomes.filter((each) => each.key === key && each.result).map(({ result }) => result);

/** @param {Outcome[]} outcomes @param {Transport} transport */
function table(outcomes, transport) {
  const rows = [...gateways, ...servers].flatMap(({ name, label }) => {
    const results = resultsOf(outcomes, `${transport}/${name}`);
    const cells = columns.map(([, value, digits]) => spread(results.map(value), digits));
    return results.length > 0 ? [[label, ...cells]] : [];
  });
  return rows.length > 0 ? markdown(['server', ...columns.map(([title]) => title)], rows) : '';
}

/** @param {Outcome[]} outcomes */
function paperTable(outcomes) {
  const rows = paper.connections.concat(outcomes.map(({ key }) => Number(/^paper-(\d+)/.exec(key)?.[1])));
  const counts = [...new Set(rows.filter(Number.isFinite))].sort((a, b) => a - b);
  const lines = counts.flatMap((devices) =>
    ['seganet', 'bare'].flatMap((name) => {
      const results = resultsOf(outcomes, `paper-${devices}/${name}`);
      const of = (/** @type {(load: any) => number | undefined} */ value, /** @type {number} */ digits) =>
        spread(
          results.map((result) => value(result.steps[0])),
          digits
        );
      if (results.length === 0) return [];
      return [
        [
          String(devices),
          name,
          of(perSecond, 0),
          of((load) => ms(load.answerUs.p50), 2),
          of((load) => ms(load.answerUs.p99), 2),
          of((load) => load.cores, 2),
          of((load) => load.requestBytes, 0),
          of((load) => load.responseBytes, 0),
          spread(
            results.map(({ verdict }) => verdict?.lost),
            0
          )
        ]
      ];
    })
  );
  const head = [
    'connections',
    'server',
    'answered/s',
    'p50 ms',
    'p99 ms',
    'server cores',
    'request B',
    'response B',
    'lost'
  ];
  return lines.length > 0 ? markdown(head, lines) : '';
}

/** @param {Outcome[]} outcomes */
function ratios(outcomes) {
  const most = (/** @type {any} */ { steps: [first] }) => perSecond(first);
  /** @type {[string, Transport, string, Transport, string | undefined][]} */
  const pairs = [
    ['aiocoap', 'tcp', 'aiocoap', 'tcp', '≥ 2'],
    ['aiocoap', 'udp', 'aiocoap', 'udp', '≥ 2'],
    ['node-coap', 'udp', 'node-coap', 'udp', '≥ 10'],
    ['libcoap', 'tcp', 'libcoap', 'tcp', undefined],
    ['libcoap', 'udp', 'libcoap', 'udp', undefined],
    ['bare server', 'tcp', 'bare', 'tcp', undefined]
  ];
  return gateways.flatMap(({ name, label }) =>
    pairs.flatMap(([title, transport, other, its, target]) =>
      ratio(
        `CoAP requests/s over ${transport.toUpperCase()}, ${label} / ${title}`,
        outcomes,
        [`${transport}/${name}`, `${its}/${other}`],
        most,
        target
      )
    )
  );
}

/** @param {Outcome[]} outcomes @returns {string[]} */
function warnings(outcomes) {
  return outcomes.flatMap(({ key, round, result }) => {
    if (!result) return [];
    const where = `${key}, round ${round + 1}`;
    const found = [];
    const busy = result.steps.some(
      (/** @type {any} */ load) => load.cpuSeconds / load.seconds > limits.harness
    );
    if (busy)
      found.push(
        `${where}: the generator used more than ${limits.harness * 100} % of its core and may have been the limit.`
      );
    if (result.verdict?.lost > 0) found.push(`${where}: ${result.verdict.lost} answered records were lost.`);
    const broken = result.steps.reduce(
      (/** @type {number} */ n, /** @type {any} */ load) => n + load.connectionLosses,
      0
    );
    if (broken > 0) found.push(`${where}: ${broken} connections were lost.`);
    return found;
  });
}

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'coap',
  title: 'CoAP',
  what: 'Requests of 109 B from 500 connections over TCP and UDP on one worker: capacity, and latency at 60 % of it, beside other servers; and the IoTivity Cloud paper’s test.',
  cases: (plan) => [...transports.flatMap((transport) => cases(plan, transport)), ...paperCases(plan)],
  lacking: (plan) =>
    servers
      .filter(({ name, lacking }) => isChosen(plan, name) && lacking())
      .map(({ label, lacking }) => ({ label, why: lacking() })),
  report: (outcomes, plan) => {
    const intro = [
      `${connections(plan)} connections, each with ${window} unanswered requests of ${requestBytes} B at all times (closed loop), then requests at random times (Poisson) at ${share * 100} % of`,
      'the rate reached. The server has one core, the generator another. "Answers when safe" is unique to the gateway: the answer leaves when the record is in the',
      'cloud, over TLS, or on disk; cloud and receiver share the generator’s core. The other servers answer at once and forward nothing; "answers at once" is the',
      'gateway without waiting (SEGANET_ACKNOWLEDGE=received), which still forwards every record.'
    ].join(' ');
    const parts = transports.flatMap((transport) => {
      const made = table(outcomes, transport);
      return made ? [`### ${transport.toUpperCase()}`, made] : [];
    });
    const own = paperTable(outcomes);
    return {
      heading: 'CoAP',
      markdown: [
        intro,
        ...parts,
        own && `### The IoTivity Cloud paper’s test: TCP, ${paper.rate} requests/s in all, Poisson`,
        own
      ]
        .filter(Boolean)
        .join('\n\n'),
      ratios: ratios(outcomes),
      plots: [],
      warnings: warnings(outcomes)
    };
  }
};
