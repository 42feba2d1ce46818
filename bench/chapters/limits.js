'use strict';
// Lower bounds of this machine: encryption, the kernel's network, and programs that do nothing else.

const { haveTool } = require('../harness/tools');
const { needsOpenssl } = require('../harness/lacking');
const { bare, bareMaximum, crypto, kernel, publisher } = require('../runs/limits');
const { cells, markdown, resultsOf } = require('../report/report');
const { ratio } = require('../runs/side-by-side');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../runs/limits').Step} Step */

const single = { window: 1024 };
const coalesced = { window: 1024, coalesce: 1 };
const paced = { rate: 10000 };
// A gateway's worker finds ten waiting messages per wake-up at 10,000 messages per second.
const gathered = { ...coalesced, rate: 10000, 'tick-us': 1000 };

/**
 * @typedef {object} Limit
 * @property {string} key @property {string} label @property {(plan: Plan) => number} seconds
 * @property {(plan: Plan, signal: AbortSignal) => Promise<Step[]>} run
 * @property {() => string} lacking
 */

const nothing = () => '';
const openssl = () =>
  haveTool('openssl') ? '' : 'The command openssl was not found. Debian: apt install openssl.';

/** @param {string} key @param {string} what @param {Record<string, number>} options @returns {Limit} */
const plain = (key, what, options) => ({
  key,
  label: what,
  seconds: (plan) => plan.seconds - plan.warmup + 2,
  run: (plan, signal) => publisher(plan, signal, what, options),
  lacking: needsOpenssl
});

/** @type {Limit[]} */
const limits = [
  { key: 'crypto', label: 'openssl speed', seconds: () => 11, run: crypto, lacking: openssl },
  { key: 'kernel', label: "the kernel's steps", seconds: () => 3, run: kernel, lacking: nothing },
  plain('cpub', 'plain publisher, one write per message, maximum', single),
  plain('cpub-coalesced', 'plain publisher, one write per half window of 1,024, maximum', coalesced),
  plain('cpub-paced', 'plain publisher, one write per message, 10,000 msg/s', paced),
  plain('cpub-gathered', 'plain publisher, one write per millisecond, 10,000 msg/s', gathered),
  { key: 'bare', label: 'bare', seconds: (plan) => plan.seconds + 5, run: bare, lacking: nothing },
  {
    key: 'bare-most',
    label: 'bare, maximum',
    seconds: (plan) => plan.seconds + 4,
    run: bareMaximum,
    lacking: nothing
  }
];

const intro = [
  'One core without other load: no gateway on this machine can use less CPU for the same step. A message of 200 B needs at least a read, an',
  'acknowledgement and its share of a write. Batches save by sharing a write, and its encryption, among several messages.',
  '`openssl speed -aead` makes records as TLS does. The plain publisher is a C++ program with one TLS 1.3 session and QoS 1.'
].join(' ');

/** @param {Step} step @returns {import('../report/report').Columns} */
const columnsOf = (step) => [
  ['CPU µs', ({ us }) => us, step.us < 10 ? 3 : 1],
  ['per second with a whole core', ({ us }) => 1e6 / us, 0],
  ['measured per second', ({ perSecond }) => perSecond, 0]
];

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'limits',
  title: 'Limits of this machine',
  what: 'The CPU that encryption, the kernel and minimal programs use here: no gateway can use less.',
  cases: (plan) =>
    limits
      .filter(({ lacking }) => !lacking())
      .map(({ key, label, seconds, run }) => ({
        key,
        label,
        seconds: seconds(plan),
        run: async ({ signal }) => ({ steps: await run(plan, signal) })
      })),
  lacking: () => limits.flatMap(({ label, lacking }) => (lacking() ? [{ label, why: lacking() }] : [])),
  report: (outcomes) => {
    const rows = limits.flatMap(({ key }) => {
      /** @type {Step[][]} */
      const rounds = resultsOf(outcomes, key).map(({ steps }) => steps);
      return (rounds[0] ?? []).map(({ what, note }, i) => {
        const same = rounds.map((steps) => steps[i]);
        return [what, ...cells(same, columnsOf(same[0])), note ?? ''];
      });
    });
    /** @param {any} result */
    const us = (result) => result.steps[0].us;
    return {
      heading: 'Limits of this machine',
      markdown: `${intro}\n\n${markdown(['step', 'CPU µs', 'per second with a whole core', 'measured per second', ''], rows)}`,
      ratios: [
        ...ratio(
          'CPU per message, plain publisher: one write per half window / one write per message',
          outcomes,
          ['cpub-coalesced', 'cpub'],
          us
        ),
        ...ratio(
          'CPU per message at 10,000 msg/s, plain publisher: one write per millisecond / one write per message',
          outcomes,
          ['cpub-gathered', 'cpub-paced'],
          us
        )
      ],
      plots: [],
      warnings: []
    };
  }
};
