'use strict';
// Shows what the gateway's memory consists of, beside an empty Node-RED.  node bench/questions/memory.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { CASES } = require('../memory/cases');
const { judge } = require('../memory/goals');
const { reportOptions } = require('../memory/reading');
const { fail, readOptions } = require('../options/options');
const { conditions, markdown, list, save, fixed } = require('../report/report');

const intro = `Usage: node native/node/run.js bench/questions/memory.js [options]

Prints resident memory (RSS), the proportional share (PSS), and anonymous memory, which belongs to no file, in MB (10^6
bytes). The cases:
  node      a Node that does nothing
  nodered   an empty Node-RED with its editor, as 'npm install node-red' and 'node-red' start it
  rest      the gateway without an editor, connected to a cloud, --settle seconds after its start
  editor    the same with the editor
  load      the gateway at rest, under load, and afterwards
  outage    the same with --minutes without a cloud, and after the backlog was sent
  small     the same with the profile small and a load of its own, in a control group with a memory limit (needs root)
PSS divides the pages of the node binary among all processes of the same Node, so the number of them matters. Then the
parts of each process's memory, V8's heaps at the end of each process, the records of each load, and the goals:
  --rest    at rest: RSS at most 110 MB; RSS at most 10 MB and PSS at most 5 MB beyond an empty Node-RED
  --load    under load: RSS at most 25 MB beyond an empty Node-RED
  --outage  after an outage: the same, and no record is lost
  --small   no record is lost, and the kernel ends no process for lack of memory
The exit code is 1 if a goal is not met. Ten minutes at 1,000 records a second:
  node native/node/run.js bench/questions/memory.js --outage --rate 1`;

/** The cases of each flag. @type {Record<string, string[]>} */
const FLAGS = {
  rest: ['nodered', 'rest'],
  load: ['nodered', 'load'],
  outage: ['nodered', 'outage'],
  small: ['small']
};

/** @typedef {import('../memory/cases').Outcome} Outcome */

const mb = (/** @type {number} */ bytes) => fixed(bytes / 1e6, 1);
const ms = (/** @type {number} */ us) => fixed(us / 1e3, 1);

/** @param {import('../memory/reading').Reading[]} readings */
function printMemory(readings) {
  const rows = readings.map(({ name, memory, anonymous, peak, threads }) => [
    ...[name, mb(memory.rss), mb(memory.pss), mb(anonymous)],
    ...[mb(peak), threads]
  ]);
  console.log(`\n${markdown(['', 'RSS', 'PSS', 'anonymous', 'highest RSS', 'threads'], rows)}`);
  const names = [...new Set(readings.flatMap(({ parts }) => parts.map(({ part }) => part)))];
  const rss = names.map((name) => [
    name,
    ...readings.map(({ parts }) => mb(parts.find(({ part }) => part === name)?.rss ?? 0))
  ]);
  console.log(`\nRSS by part:\n\n${markdown(['', ...readings.map(({ name }) => name)], rss)}`);
  const heaps = readings.flatMap(({ name, heaps: all }) =>
    all.map(({ thread, total, used, young }) => [name, thread, mb(total), mb(used), mb(young)])
  );
  console.log(
    `\nV8's heaps:\n\n${markdown(['', 'thread', 'committed', 'used', 'space for new objects'], heaps)}`
  );
}

/** @param {Record<string, Outcome>} outcomes */
function printLoads(outcomes) {
  const rows = Object.entries(outcomes).flatMap(([name, { figures }]) => {
    if (!figures) return [];
    const { sent, acked, lost, latencyUs, groupPeak, kills } = figures;
    const { alarm, normal } = latencyUs;
    return [
      [
        ...[name, sent, acked, lost, `${ms(alarm.p50)} / ${ms(alarm.p99)}`],
        ...[`${ms(normal.p50)} / ${ms(normal.p99)}`, groupPeak ? mb(groupPeak) : '–', kills ?? '–']
      ]
    ];
  });
  if (rows.length === 0) return;
  const head = [
    '',
    'sent',
    'acknowledged',
    'lost',
    'live class 1: p50 / p99 ms',
    'live class 3: p50 / p99 ms'
  ];
  head.push('most memory of the control group', 'ended for lack of memory');
  console.log(`\nLoads:\n\n${markdown(head, rows)}`);
}

/** @param {ReturnType<typeof judge>} goals */
function printGoals(goals) {
  if (goals.length === 0) return;
  const rows = goals.map(({ what, target, value, isMet }) => [
    ...[what, target ?? '', fixed(value, Number.isInteger(value) ? 0 : 1)],
    isMet ? 'yes' : 'NO'
  ]);
  console.log(`\n${markdown(['goal', '', 'measured', 'met'], rows)}`);
}

/** @param {Record<string, any>} own @returns {string[]} the cases to measure */
function chosen(own) {
  const byFlag = Object.entries(FLAGS).flatMap(([flag, names]) => (own[flag] ? names : []));
  const names = byFlag.length > 0 ? [...new Set(byFlag)] : own.cases.split(',');
  for (const name of names) if (!CASES[name]) fail(`--cases: '${name}' is not known. See --help.`);
  return names;
}

async function main() {
  const { profile, out, own } = readOptions(intro, {
    defaults: { seconds: '20', warmup: '1', systems: '' },
    numbers: {
      settle: [
        '15',
        1,
        600,
        'seconds without load before a reading; the engine returns free memory 10 s after its backlog was sent'
      ],
      minutes: ['10', 0.05, 60, 'length of the outage'],
      'small-devices': ['200', 1, 20000, 'devices of the case small'],
      'small-rate': ['1', 0.05, 10000, 'messages per second of each of them'],
      'small-mib': ['256', 64, 65536, 'memory limit of the case small, MiB']
    },
    texts: {
      cases: ['node,nodered,rest,editor,load', `comma-separated, of ${Object.keys(CASES).join(', ')}`],
      'node-flags': ['--max-semi-space-size=1', 'flags of Node for all cases, separated by spaces']
    },
    flags: Object.fromEntries(
      Object.entries(FLAGS).map(([flag, names]) => [
        flag,
        `only the cases ${names.join(', ')}, in place of --cases`
      ])
    )
  });
  const flags = own['node-flags'].split(/\s+/).filter(Boolean);
  const names = chosen(own);
  const start = ['native/node/run.js', 'flows/launcher/start.js'];
  // Where Node.js writes its diagnostic reports, too.
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-memory-'));
  process.env.SEGANET_TEST_GATEWAY = JSON.stringify([process.execPath, ...flags, ...start]);
  process.env.NODE_OPTIONS = reportOptions(folder);
  const small = { devices: own['small-devices'], rate: own['small-rate'], mib: own['small-mib'] };
  const facts = {
    ...conditions(profile, 1),
    small: `${small.devices} devices × ${small.rate} msg/s, ${small.mib} MiB`,
    outage: `${own.minutes} min`,
    flags: flags.join(' ') || 'none'
  };
  const setup = { flags, settleS: own.settle, outageS: own.minutes * 60, folder, profile, small };
  /** @type {Record<string, Outcome>} */
  const outcomes = {};
  try {
    for (const name of names) outcomes[name] = await CASES[name](setup);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
  const goals = judge(outcomes);
  console.log(list(facts));
  printMemory(Object.values(outcomes).flatMap(({ readings }) => readings));
  printLoads(outcomes);
  printGoals(goals);
  save(out, { conditions: facts, outcomes, goals });
  if (goals.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

void main();
