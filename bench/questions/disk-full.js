'use strict';
// Fills the disk of the log under load while the cloud is down. Reports acknowledgements, statuses, recovery, and
// acknowledged records that are missing.  node bench/questions/disk-full.js --help

const path = require('node:path');
const { measure, sleep } = require('../runs/measure');
const { readOptions, fail } = require('../options/options');
const { conditions, markdown, list, save, fixed } = require('../report/report');
const { Volume, diskUsage } = require('../harness/volume');

const intro = `Usage: node bench/questions/disk-full.js [options]

Needs root. The log is on a small volume of its own. Under load, the cloud stops; a filler file takes the rest of the
volume for --full seconds and is then removed; the cloud returns. The report has the acknowledgements of each phase
(none may be sent for a record that is not safe), the statuses of the log and the uplink, the time from the removal
of the filler until acknowledgements resume, and the records that arrived.`;

/** @typedef {import('../runs/stage').Stage} Stage */

/** @param {Volume} volume @param {Record<string, any>} own */
function schedule(volume, own) {
  const times = { downMs: 0, fullMs: 0, freeMs: 0, upMs: 0 };
  /** @param {import('../harness/cloud').Cloud} cloud @param {number} startMs */
  const during = async (cloud, startMs) => {
    /** @param {number} second */
    const until = (second) => sleep(startMs + second * 1000 - Date.now());
    await until(own.down);
    times.downMs = Date.now();
    await cloud.stop();
    await until(own.down + own.before);
    const empty = volume.fill();
    times.fullMs = Date.now();
    try {
      // The filler also takes space that the gateway frees meanwhile, as by a checkpoint.
      for (const endMs = times.fullMs + own.full * 1000; Date.now() < endMs;) await sleep(500);
    } finally {
      empty();
    }
    times.freeMs = Date.now();
    await sleep(own.recover * 1000);
    await cloud.start();
    times.upMs = Date.now();
  };
  return { during, times };
}

/** Records the gateway's output and each change of the log's state. */
function listener() {
  /** @type {{atMs: number, text: string}[]} */
  const said = [];
  let state = '';
  let read = 0;
  /** @param {Stage} stage */
  const observe = async ({ system, loads }) => {
    const gateway = /** @type {import('../harness/bench-gateway').BenchGateway} */ (system?.gateway);
    const lines = gateway.output.split('\n').slice(0, -1);
    for (const text of lines.slice(read)) said.push({ atMs: Date.now(), text });
    read = lines.length;
    const stats = await gateway.stats();
    const log = stats?.log;
    const now = log ? `log ${log.state}${log.reason ? `: ${log.reason}` : ''}` : 'log: not in the stats';
    if (now !== state) said.push({ atMs: Date.now(), text: now });
    state = now;
    const { sent, acked } = loads[0].progress().pop() || { sent: 0, acked: 0 };
    return { sent, acked, log: log?.state, logMB: diskUsage(gateway.logFolder) / 1e6 };
  };
  return { observe, said };
}

/**
 * @param {{us: number, sent: number, acked: number}[]} progress
 * @param {number} fromMs @param {number} toMs
 */
function acknowledgedBetween(progress, fromMs, toMs) {
  /** @param {number} ms */
  const at = (ms) => progress.filter(({ us }) => us / 1000 <= ms).pop()?.acked ?? 0;
  return at(toMs) - at(fromMs);
}

/**
 * Returns the seconds until acknowledgements resumed: the first report after `freeMs` with more than the previous one.
 * @param {{us: number, acked: number}[]} progress @param {number} freeMs
 */
function recoveryS(progress, freeMs) {
  const after = progress.findIndex(({ us }) => us / 1000 > freeMs);
  const found = progress.findIndex(({ acked }, i) => i > 0 && i >= after && acked > progress[i - 1].acked);
  return after < 0 || found < 0 ? NaN : (progress[found].us / 1000 - freeMs) / 1000;
}

async function main() {
  const { profile, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '200', rate: '5', payload: '300', seconds: '60', repeat: '1' },
    numbers: {
      size: ['64', 8, 4096, 'MiB of the volume'],
      down: ['5', 1, 60, 'seconds of load before the cloud stops'],
      before: ['3', 1, 600, 'seconds from then until the volume is full'],
      full: ['30', 1, 600, 'seconds for which it stays full'],
      recover: ['5', 1, 60, 'seconds from then until the cloud returns']
    },
    texts: { volume: ['ext4', 'ext4 (on a loop device) | tmpfs'] }
  });
  if (own.volume !== 'ext4' && own.volume !== 'tmpfs') fail('--volume must be ext4 or tmpfs');
  profile.seconds = Math.max(profile.seconds, own.down + own.before + own.full + own.recover + 5);
  const volume = new Volume(own.volume, own.size).mount();
  try {
    const facts = {
      ...conditions(profile, 1),
      volume: `${own.volume}, ${own.size} MiB, full for ${own.full} s, starting ${own.before} s after the cloud stops`
    };
    const { during, times } = schedule(volume, own);
    const { observe, said } = listener();
    /** @type {{us: number, sent: number, acked: number}[]} */
    let progress = [];
    const result = await measure('seganet', {
      ...profile,
      gatewayEnv: { ...profile.gatewayEnv, SEGANET_LOG_DIR: path.join(volume.folder, 'log') },
      statistics: true,
      quietMs: 15000,
      drain: 60,
      loadOptions: { 'progress-ms': 100 },
      during,
      observe: async (stage) => {
        progress = stage.loads[0].progress();
        return observe(stage);
      }
    });
    report(result, facts, { times, said, progress });
    save(out, { conditions: facts, profile, result, times, said });
  } finally {
    volume.remove();
  }
}

/**
 * @param {import('../runs/measure').Result} result @param {Record<string, string>} facts
 * @param {{times: ReturnType<typeof schedule>['times'], said: {atMs: number, text: string}[],
 *          progress: {us: number, sent: number, acked: number}[]}} seen
 */
function report(result, facts, { times, said, progress }) {
  const { sent, arrived, verdict, startMs, cleanEnd, memory } = result;
  // A pending commit may still be acknowledged.
  const whileFull = acknowledgedBetween(progress, times.fullMs + 500, times.freeMs);
  const lost = verdict ? verdict.lost : NaN;
  const head = ['sent', 'acknowledged', 'delivered', 'lost', 'duplicates', 'out of order'];
  head.push('acknowledged while full', 'acknowledgements resumed after s', 'max RSS MB', 'max log MB');
  head.push('device connections lost', 'never acknowledged', 'clean exit');
  const row = [
    sent.sent,
    sent.acked,
    arrived.unique,
    `**${lost}**`,
    arrived.duplicates,
    arrived.outOfOrder,
    whileFull,
    fixed(recoveryS(progress, times.freeMs), 1),
    result.rssMB,
    fixed(Math.max(...memory.map(({ logMB }) => logMB ?? 0)), 1),
    sent.connectionLosses,
    sent.unacked + sent.unsent,
    cleanEnd ? 'yes' : 'NO'
  ];
  console.log(`${list(facts)}\n\n${markdown(head, [row])}\n`);
  const events = [
    ...said,
    { atMs: times.downMs, text: '*the cloud stops*' },
    { atMs: times.fullMs, text: '*the volume is full*' },
    { atMs: times.freeMs, text: '*there is room again*' },
    { atMs: times.upMs, text: '*the cloud returns*' }
  ].sort((a, b) => a.atMs - b.atMs);
  const rows = events.map(({ atMs, text }) => [fixed((atMs - startMs) / 1000, 1), text]);
  console.log(markdown(['second', 'event or message of the gateway'], rows));
}

main();
