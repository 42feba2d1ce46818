'use strict';
// The report of the chapter tenants: the twenty criteria, and tables behind them.

const { criteriaTable, roundsOf } = require('../report/criteria');
const { markdown, resultsOf, spread } = require('../report/report');
const { percentile } = require('../stats/latency');
const { set } = require('./criteria');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome */

const MB = 1e6;

/** @param {Outcome[]} outcomes */
function wakeTable(outcomes) {
  const kinds = /** @type {[string, string, string][]} */ ([
    ['wake', 'puback', 'PUBACK of the record that woke'],
    ['wake', 'arrived', 'the tenant has it on disk'],
    ['wake', 'acknowledged', 'the tenant has acknowledged it'],
    ['half', 'puback', 'half a core: PUBACK'],
    ['half', 'arrived', 'half a core: the tenant has it'],
    ['half', 'acknowledged', 'half a core: acknowledged'],
    ['pages-stopped', 'firstByte', 'first byte of a page, stopped'],
    ['pages-paused', 'firstByte', 'first byte of a page, paused'],
    ['together', 'puback', 'at once: PUBACK'],
    ['together', 'arrived', 'at once: the tenants have their record']
  ]);
  const rows = kinds.flatMap(([key, field, title]) => {
    const all = resultsOf(outcomes, key).flatMap((result) => result[field]);
    if (all.length === 0) return [];
    const cells = [0, 0.5, 0.9, 0.99, 1].map((each) => percentile(all, each)?.toFixed(0) ?? '–');
    return [[title, all.length, ...cells]];
  });
  if (rows.length === 0) return '';
  return markdown(['ms', 'samples', 'least', 'p50', 'p90', 'p99', 'most'], rows);
}

/** @param {any[]} results @param {[string, (result: any) => any][]} columns name, weight */
const weightTable = (results, columns) =>
  markdown(
    ['MB', 'RSS', 'PSS', 'private'],
    columns.map(([name, weight]) => [
      name,
      ...['rss', 'pss', 'private'].map((kind) =>
        spread(
          results.map((each) => weight(each)[kind] / MB),
          1
        )
      )
    ])
  );

/** @param {Outcome[]} outcomes */
function memoryTable(outcomes) {
  const results = resultsOf(outcomes, 'memory');
  if (results.length === 0) return '';
  return weightTable(results, [
    ['a running tenant', ({ running }) => running[0]],
    ['front', ({ front }) => front],
    ['keeper', ({ keeper }) => keeper],
    [`front with ${results[0].more} more that sleep`, ({ frontWithMore }) => frontWithMore],
    ['keeper with them', ({ keeperWithMore }) => keeperWithMore]
  ]);
}

/** @param {Outcome[]} outcomes @param {string} key */
function scaleText(outcomes, key) {
  const results = resultsOf(outcomes, key);
  if (results.length === 0) return '';
  const [{ defined, awake, devices, everyMs, isLight, added }] = results;
  const of = (/** @type {(result: any) => number | undefined} */ value, /** @type {number} */ digits) =>
    spread(results.map(value), digits);
  const wakes = results.flatMap((result) => result.wakes);
  const wake = (/** @type {string} */ field) =>
    spread(
      wakes.map((/** @type {any} */ each) => each[field] ?? undefined),
      0
    );
  const growth = (/** @type {any} */ { few, all }, /** @type {'front' | 'keeper'} */ part) =>
    (all[part].private - few[part].private) / added / 1000;
  const rows = [
    ['connection of all devices, s', of(({ connectS }) => connectS, 1)],
    [
      'records sent / acknowledged / refused',
      `${of(({ sent }) => sent, 0)} / ${of(({ acked }) => acked, 0)} / ${of(({ refused }) => refused, 0)}`
    ],
    [
      'PUBACK p50 / p99, ms',
      [0.5, 0.99].map((each) => of(({ puback }) => percentile(puback, each), 1)).join(' / ')
    ],
    [
      'acknowledged records that no tenant has',
      isLight ? 'not seen: a broker keeps none' : of(({ lost }) => lost, 0)
    ],
    ['lost connections of devices', of(({ losses }) => losses, 0)],
    [
      'a sleeping tenant in the front / the keeper, KB',
      `${of((each) => growth(each, 'front'), 1)} / ${of((each) => growth(each, 'keeper'), 1)}`
    ],
    [
      'CPU of front / keeper / all tenants, cores',
      ['front', 'keeper', 'tenants'].map((part) => of(({ cores }) => cores[part], 3)).join(' / ')
    ],
    ['a wake meanwhile: PUBACK, ms', wake('puback')],
    ['… the keeper has it ready, ms', wake('readyMs')],
    ['… the front has a session, ms', wake('connectedMs')],
    ...(isLight ? [] : [['… the tenant has the record, ms', wake('arrived')]])
  ];
  const title = `### ${defined} tenants, ${awake} awake (${isLight ? 'mosquitto, a light MQTT server' : 'gateways'}), ${devices} devices, each with a record in ${everyMs / 1000} s`;
  const weights = weightTable(results, [
    [`front, ${defined - added} tenants asleep`, ({ few }) => few.front],
    [`front, ${defined} asleep`, ({ all }) => all.front],
    ['front under load', ({ loaded }) => loaded.front],
    ['keeper, few', ({ few }) => few.keeper],
    ['keeper, all', ({ all }) => all.keeper],
    ['keeper under load', ({ loaded }) => loaded.keeper],
    ['an awake tenant', ({ loaded }) => loaded.tenants[0]]
  ]);
  return [title, markdown(['', ''], rows), weights].join('\n\n');
}

/** @param {Outcome[]} outcomes */
function containersTable(outcomes) {
  const results = resultsOf(outcomes, 'containers');
  if (results.length === 0) return '';
  const row = (/** @type {string} */ name, /** @type {(run: any) => number} */ value, digits = 0) => [
    name,
    ...['native', 'limited', 'container'].map((kind) =>
      spread(
        results.flatMap((result) => result[kind].map(value)),
        digits
      )
    )
  ];
  const threads = Object.keys(results[0].native[0].primes);
  return markdown(
    [`engine: ${results[0].engine}`, 'native', 'native, same limits', 'container'],
    [
      ...threads.map((n) => row(`primes, ${n} at once, events/s`, ({ primes }) => primes[n])),
      ...['memcpy', 'dumb', 'mcblock'].map((name) => row(`${name}, MiB/s`, ({ copies }) => copies[name])),
      row('sequential write and fsync, MiB/s', ({ write }) => write),
      row('UDP server, CPU s/GB', ({ udp }) => udp.server, 2),
      row('UDP client, CPU s/GB', ({ udp }) => udp.client, 2),
      row('UDP that arrived, %', ({ udp }) => 100 * udp.arrived, 1)
    ]
  );
}

/** @param {Outcome[]} outcomes @returns {string[]} */
function warnings(outcomes) {
  return outcomes.flatMap(({ key, round, result }) => {
    if (!result || result.isLeftOut) return [];
    const where = `${key}, round ${round + 1}`;
    const found = [];
    if (result.refusals > 0)
      found.push(`${where}: ${result.refusals} pages were answered with 503 and asked for again.`);
    if (result.rests?.length > 0)
      found.push(`${where}: tenants with work rested: ${result.rests.join(', ')}.`);
    if (result.lost > 0) found.push(`${where}: ${result.lost} acknowledged records were in no tenant.`);
    if (result.skipped > 0 && /^test-/.test(key))
      found.push(
        `${where}: ${result.skipped} tests were skipped, so criterion ${key.slice(5)} is not proven.`
      );
    if (result.losses > 0) found.push(`${where}: ${result.losses} connections of devices were lost.`);
    return found;
  });
}

/** @param {Plan} plan @param {Outcome[]} outcomes */
function intro(plan, outcomes) {
  const driver = plan.driver ?? 'process';
  const [duty] = resultsOf(outcomes, 'duty');
  return [
    `A gateway is the front; the keeper starts and stops tenants, each a gateway of its own (driver ${driver}). Front,`,
    'keeper, tenants and harness share all cores: nothing is pinned. Each tenant had run once',
    'before. A tenant sleeps as a stopped program, unless it is paused. Latencies count from the publish or the request;',
    '_acknowledged_ ends when the front has the tenant’s PUBACK, which the tenant sends when the record is on its disk.',
    'A p99 is that of all samples of all rounds (their number is in parentheses), the range that of the rounds.',
    '_private_ is the memory that the end of a process would free; a control group counts the same without page cache.',
    ...(driver === 'process'
      ? []
      : ['The memory of a tenant is what the engine reports without page cache.']),
    ...(duty
      ? [
          `Criterion 1 was measured once, for ${(duty.seconds / 60).toFixed(1)} min with ${duty.packets} packets (--minutes 62: the paper’s length).`
        ]
      : []),
    'The paper measures none of the criteria with –. Its figures are those of a Raspberry Pi 2 and 3; no such board was measured here.',
    '_native_ UDP uses a virtual Ethernet link, as the container’s, which has a bridge behind it.'
  ].join('\n');
}

/** @param {Outcome[]} outcomes */
function questionsText(outcomes) {
  const [result] = resultsOf(outcomes, 'directory');
  return result ? `\`\`\`\n${result.text}\n\`\`\`` : '';
}

/** @param {Outcome[]} outcomes @param {Plan} plan @returns {string} Markdown */
function reportText(outcomes, plan) {
  const sections = /** @type {[string, string][]} */ ([
    ['', intro(plan, outcomes)],
    ['', criteriaTable(set, roundsOf(outcomes))],
    ['### Wakes', wakeTable(outcomes)],
    ['### Memory', memoryTable(outcomes)],
    ['### A container and none', containersTable(outcomes)],
    ['### Questions', questionsText(outcomes)],
    ['', scaleText(outcomes, 'scale')],
    ['', scaleText(outcomes, 'scale-light')]
  ]);
  return sections
    .filter(([, text]) => text)
    .flatMap(([title, text]) => (title ? [title, text] : [text]))
    .join('\n\n');
}

module.exports = { reportText, warnings };
