'use strict';
// CoAP from many connections: the capacity of one worker beside other servers, and the IoTivity Cloud paper's test.

const { runGateway, runServer } = require('../runs/coap-run');
const { servers } = require('../runs/coap-servers');
const { columnTable, resultsOf } = require('../report/report');
const { ratio } = require('../runs/side-by-side');
const { generatorWarnings, limits } = require('../report/warnings');

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

/** @param {any} result @param {'refused' | 'retransmitted' | 'connectionLosses'} field */
const inAll = (result, field) =>
  result.steps.reduce((/** @type {number} */ sum, /** @type {any} */ load) => sum + load[field], 0);

/** @type {import('../report/report').Columns} */
const columns = [
  ['max requests/s', ({ steps: [most] }) => perSecond(most), 0],
  ['server CPU µs/request', ({ steps: [most] }) => (most.serverCpuSeconds * 1e6) / most.answered, 1],
  ['server cores', ({ steps: [most] }) => most.cores, 2],
  ['generator cores', ({ steps: [most] }) => most.cpuSeconds / most.seconds, 2],
  ['at 60 %: p50 ms', ({ steps: [, part] }) => ms(part?.answerUs.p50), 2],
  ['p99 ms', ({ steps: [, part] }) => ms(part?.answerUs.p99), 2],
  ['refused', (result) => inAll(result, 'refused'), 0],
  ['lost', ({ verdict }) => verdict?.lost, 0],
  ['retransmitted', (result) => inAll(result, 'retransmitted'), 0]
];

/** @type {import('../report/report').Columns} */
const paperColumns = [
  ['answered/s', ({ steps: [load] }) => perSecond(load), 0],
  ['p50 ms', ({ steps: [load] }) => ms(load.answerUs.p50), 2],
  ['p99 ms', ({ steps: [load] }) => ms(load.answerUs.p99), 2],
  ['server cores', ({ steps: [load] }) => load.cores, 2],
  ['request B', ({ steps: [load] }) => load.requestBytes, 0],
  ['response B', ({ steps: [load] }) => load.responseBytes, 0],
  ['lost', ({ verdict }) => verdict?.lost, 0]
];

/** @param {Outcome[]} outcomes @param {Transport} transport */
const table = (outcomes, transport) =>
  columnTable(
    ['server'],
    [...gateways, ...servers].map(({ name, label }) => ({
      name: [label],
      results: resultsOf(outcomes, `${transport}/${name}`)
    })),
    columns
  );

/** @param {Outcome[]} outcomes */
function paperTable(outcomes) {
  const found = outcomes.flatMap(({ key }) => /^paper-(\d+)/.exec(key)?.[1] ?? []);
  const counts = [...new Set(found.map(Number))].sort((a, b) => a - b);
  const groups = counts.flatMap((devices) =>
    ['seganet', 'bare'].map((name) => ({
      name: [devices, name],
      results: resultsOf(outcomes, `paper-${devices}/${name}`)
    }))
  );
  return columnTable(['connections', 'server'], groups, paperColumns);
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
    const isBusy = result.steps.some(
      (/** @type {any} */ load) => load.cpuSeconds / load.seconds > limits.harness
    );
    const found = generatorWarnings(where, isBusy);
    if (result.verdict?.lost > 0) found.push(`${where}: ${result.verdict.lost} answered records were lost.`);
    const broken = inAll(result, 'connectionLosses');
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
