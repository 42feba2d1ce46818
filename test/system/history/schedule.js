'use strict';
// The plan of a run, drawn from its seed: the load, the gateway's settings, and which faults when and for how long.

const { draws, seeded } = require('../../fixtures/random');
const { EDITS } = require('./faults/flow-edits');

/**
 * @typedef {{kind: string, at: number, for: number, [detail: string]: any}} Fault times in ms after the start of the load
 *
 * @typedef {object} Schedule
 * @property {number} seed @property {string} kind the run's main fault @property {number} seconds of load
 * @property {number} devices @property {number} rate @property {import('./devices/payload').Shape} shape
 * @property {{acknowledge: string, batchMode: string, batchDevices: number, batchBytes: number, batchMs: number,
 *   inflight: number, memoryMiB: number, logMiB: number, whenFull: string, oddTopics: string, format?: string,
 *   ackTimeoutMs?: number}} gateway
 * @property {Fault[]} faults
 * @property {string[]} allowedDrops reasons that explain a missing record
 * @property {string[]} harmlessDrops reasons under which only records without an acknowledgement may be dropped
 */

/** Faults of the link and the broker. */
const UPLINK = [
  'reset',
  'blackhole',
  'drop',
  'slow',
  'delay',
  'quota',
  'refuse',
  'receive-maximum',
  'packet-size',
  'connack',
  'broker-stop',
  'broker-kill',
  'odd-topic'
];
/** Faults of the gateway and its machine. */
const GATEWAY = [
  'kill',
  'kill-in-outage',
  'kill-start',
  'kill-deploy',
  'term',
  'deploy',
  'clock',
  'write-failures',
  'disk-full',
  'power-cut',
  'full-log',
  'drop-kill'
];
/** A user who edits the flow. */
const PEOPLE = ['edits'];

const KINDS = ['none', ...UPLINK, ...GATEWAY, ...PEOPLE];

/** A burst over a link that is too slow for it, with limits of the broker, and then silence: in a mode of its own. */
const LINKS = ['slow-link'];
/** Formats of envelopes. */
const FORMATS = ['ndjson', 'ndjson', 'json', 'cbor'];
/** Batches older than this leave memory while they wait (native/core/queue/lanes_context.h, kStaleUs). */
const STALE_S = 10;

/** Under these the gateway must write to its log: they lie behind the faults of the gateway. */
const OUTAGES = ['broker-kill', 'broker-stop', 'blackhole', 'connack'];

/** Nodes whose change is deployed. */
const CHANGED = [
  'seganet-batch-1',
  'seganet-uplink-1',
  'seganet-priority-1',
  'seganet-devices-1',
  'seganet-broker-1',
  'seganet-engine-1'
];

const DAY_S = 86400;

/** @typedef {ReturnType<typeof draws>} Draws */

/** Topics that MQTT allows, and on which brokers close the connection. */
const ODD_TOPICS = [
  'd/x\u0001y',
  'd/x\u009fy',
  'd/x\ufffey',
  '$SYS/broker/x',
  '$share/group/x',
  '$other/x',
  'd/a b'
];

/** @type {Record<string, (draw: Draws, ms: number) => Partial<Fault>>} details of a fault, `ms` = length of the load */
const details = {
  none: () => ({}),
  reset: ({ pick, between }) => ({
    where: pick(['publish', 'puback']),
    times: between(1, 4),
    gapMs: between(50, 400)
  }),
  blackhole: ({ between }) => ({ for: between(300, 2500) }),
  drop: ({ between }) => ({ for: between(300, 2500) }),
  slow: ({ between, pick }) => ({ for: between(1000, 2500), bytesPerSecond: pick([1000, 4000, 16000]) }),
  delay: ({ between, pick }) => ({ for: between(1000, 2500), delayMs: pick([50, 300, 1200]) }),
  quota: ({ between }) => ({ for: between(300, 2000) }),
  refuse: ({ pick }) => ({ for: 1e6, every: pick([30, 100, 300]) }),
  'receive-maximum': ({ pick }) => ({ for: 1e6, at: 0, maximum: pick([1, 2, 2, 5]) }),
  'packet-size': ({ pick }) => ({ for: 1e6, at: pick([0, 0, 700]), maximum: 1024 }),
  connack: ({ between, pick }) => ({ for: between(500, 2500), code: pick([0x88, 0x88, 0x97, 0x9f]) }),
  'broker-stop': ({ between }) => ({ for: between(300, 2500) }),
  'broker-kill': ({ between }) => ({ for: between(300, 2500) }),
  'odd-topic': ({ between, pick }) => ({
    for: between(500, 2500),
    topic: pick(ODD_TOPICS),
    records: between(1, 4)
  }),
  kill: ({ between, chance }) => ({
    times: chance(30) ? 2 : 1,
    pauseMs: between(0, 400),
    gapMs: between(1200, 1800)
  }),
  'kill-in-outage': ({ between }) => ({
    times: between(1, 3),
    pauseMs: between(0, 300),
    gapMs: between(1200, 1500)
  }),
  'kill-start': ({ between }) => ({
    times: between(2, 4),
    pauseMs: between(0, 200),
    gapMs: between(50, 1300)
  }),
  'kill-deploy': ({ between, pick }) => ({
    deploy: pick(['full', 'nodes']),
    changed: pick(CHANGED),
    afterMs: between(0, 400),
    pauseMs: between(0, 300)
  }),
  term: ({ between }) => ({ pauseMs: between(0, 300) }),
  deploy: ({ between, pick }) => ({
    times: between(1, 3),
    gapMs: between(0, 500),
    deploy: pick(['full', 'nodes', 'nodes', 'flows', 'reload']),
    changed: pick(CHANGED)
  }),
  clock: ({ pick, chance }) => ({
    jumpS: pick([400 * DAY_S, -400 * DAY_S, 0, 3600, -3600]),
    restart: chance(60),
    back: chance(30)
  }),
  'write-failures': ({ pick, between, chance }) => ({
    for: between(1500, 2500),
    times: 12,
    field: pick(['failWrites', 'failSyncs', 'failSyncs', 'shortWrites', 'mixed']),
    error: pick([5, 5, 28, 30]),
    drop: chance(50) ? 1 : 0,
    burst: pick([1, 1, 3, 1000]),
    restart: chance(60)
  }),
  'disk-full': ({ between, chance }) => ({ for: between(800, 2000), restart: chance(40) }),
  'power-cut': ({ between }) => ({ pauseMs: between(0, 300) }),
  'full-log': ({ between, pick }) => ({ how: pick(['kill', 'term']), awayMs: between(500, 2500) }),
  'drop-kill': ({ between, chance }) => ({ for: between(2000, 4000), restart: chance(80) }),
  'slow-link': ({ pick, chance }) => ({
    at: 0,
    for: 1e6,
    delayMs: pick([20, 60, 150, 300, 600, 1200, 2500, 5000]),
    bytesPerSecond: pick([0, 0, 0, 4000, 20000]),
    receiveMaximum: pick([0, 1, 2, 5, 20]),
    // A record alone has up to 400 bytes with its topic and key.
    maximumPacketSize: pick([0, 0, 450, 600, 1000, 4096]),
    quotaEvery: chance(25) ? pick([50, 200]) : 0
  }),
  edits: ({ between, chance, pick }) => ({
    at: 400,
    steps: Array.from({ length: between(2, 6) }, () => ({
      edit: pick(Object.keys(EDITS)),
      isFresh: chance(60),
      deploy: pick(['full', 'nodes', 'flows']),
      gapMs: chance(30) ? 0 : between(50, 1200),
      kill: chance(8)
    })),
    last: pick(['full', 'nodes', 'flows'])
  })
};

/**
 * How often, in percent, an outage surrounds a fault of the gateway, where it is not 65.
 * @type {Record<string, number>}
 */
const covered = {
  edits: 40,
  'full-log': 0,
  'drop-kill': 0,
  'kill-in-outage': 100,
  'write-failures': 100,
  'disk-full': 85,
  'power-cut': 85
};

/**
 * Conditions that some faults need, or the run would show nothing.
 * @type {Record<string, {gateway?: Partial<Schedule['gateway']>, shape?: object, rate?: number}>}
 */
const needed = {
  'full-log': {
    gateway: { logMiB: 1, inflight: 32, batchMs: 20 },
    shape: { minPad: 600, maxPad: 900 },
    rate: 1500
  },
  'drop-kill': {
    gateway: { logMiB: 1, memoryMiB: 1, whenFull: 'drop', inflight: 32 },
    shape: { minPad: 600, maxPad: 900 },
    rate: 1500
  },
  'packet-size': { shape: { maxPad: 700, bigEvery: 60, bigPad: 1500 } },
  'slow-link': { shape: { minPad: 10, maxPad: 40 } }
};

/** Bytes of a record of such a run in an envelope. */
const RECORD_BYTES = 200;
/** Records that an envelope has when it is sealed after batchMs: at most this many, as the load is small. */
const MOST_RECORDS = 8;
/** Records a second that the link of such a run takes at least. */
const LEAST_PER_S = 15;

/**
 * Chooses the load of a burst so that the link needs 4 to 24 s for it: some of its records get old on the way.
 * @param {Schedule} schedule @param {Draws} draw @returns {Schedule}
 */
function slowLink(schedule, { between, pick }) {
  const { faults, gateway, seconds, devices } = schedule;
  const [fault] = faults;
  const { bytesPerSecond, receiveMaximum, maximumPacketSize } = fault;
  const window = Math.min(gateway.inflight, receiveMaximum || Infinity);
  const packet = Math.min(gateway.batchBytes, maximumPacketSize || Infinity);
  // From fewer devices than batchDevices, each record leaves alone.
  const isBatched = gateway.batchMode === 'envelope' && gateway.batchDevices <= devices;
  const records = isBatched ? Math.min(MOST_RECORDS, Math.max(1, Math.floor(packet / RECORD_BYTES))) : 1;
  // A long path with a small window would take a few records only.
  const delayMs = Math.min(fault.delayMs, Math.round((window * records * 1000) / LEAST_PER_S));
  const byWindow = (window * records * 1000) / (delayMs + 5);
  const perSecond = Math.min(byWindow, bytesPerSecond > 0 ? bytesPerSecond / RECORD_BYTES : Infinity);
  const rate = Math.round((perSecond * STALE_S * between(4, 24)) / 10 / seconds);
  return {
    ...schedule,
    faults: [{ ...fault, delayMs }],
    rate: Math.min(1500, Math.max(5, rate)),
    gateway: {
      ...gateway,
      format: gateway.batchMode === 'envelope' ? pick(FORMATS) : 'ndjson',
      // On a path of 5 s an acknowledgement is not late earlier.
      ackTimeoutMs: Math.max(2000, 4 * delayMs)
    }
  };
}

/** @type {Record<string, string[]>} */
const allowed = {
  'odd-topic': ['deadLetter'],
  refuse: ['deadLetter'],
  'packet-size': ['deadLetter'],
  'drop-kill': ['logFull', 'memoryFull']
};
/** @type {Record<string, string[]>} */
const harmless = { edits: ['uplinkRemoved', 'noRoute', 'closed'] };

/**
 * @param {number} seed
 * @param {{seconds: number, kinds: string[]}} options
 * @returns {Schedule}
 */
function drawSchedule(seed, { seconds, kinds }) {
  const draw = draws(seeded(seed));
  const { pick, between, chance } = draw;
  // All kinds are equally frequent in a row of seeds.
  const kind = kinds[seed % kinds.length];
  const ms = seconds * 1000;
  const shape = {
    seed,
    minPad: 20,
    maxPad: pick([40, 200, 300]),
    bigEvery: 0,
    bigPad: 0,
    ...needed[kind]?.shape
  };
  const batchMode = pick(['envelope', 'envelope', 'records', 'off']);
  const gateway = {
    acknowledge: chance(75) ? 'safe' : 'stored',
    batchMode,
    batchDevices: chance(70) ? 0 : 50,
    batchBytes: pick([512, 1024, 8192]),
    batchMs: pick([20, 100, 1000]),
    inflight: pick([1, 8, 32, 32]),
    memoryMiB: pick([1, 64, 64]),
    logMiB: 1024,
    whenFull: 'slow',
    oddTopics: kind === 'odd-topic' && chance(60) ? 'accept' : 'refuse',
    ...needed[kind]?.gateway
  };
  const faults = [{ kind, at: between(400, Math.round(ms * 0.45)), for: 0, ...details[kind](draw, ms) }];
  if ((GATEWAY.includes(kind) || PEOPLE.includes(kind)) && chance(covered[kind] ?? 65)) {
    const outage = pick(OUTAGES);
    const at = Math.max(0, faults[0].at - between(200, 1000));
    // It outlasts the fault, so that the gateway has to live on its log.
    const length = faults[0].at - at + faults[0].for + between(200, 1800);
    faults.push({ kind: outage, ...details[outage](draw, ms), at, for: length });
  } else if (kind !== 'none' && !LINKS.includes(kind) && chance(25)) {
    const second = pick(['reset', 'delay', 'broker-kill']);
    faults.push({ kind: second, at: between(200, ms), for: 0, ...details[second](draw, ms) });
  }
  const schedule = {
    seed,
    kind,
    seconds,
    devices: between(20, 50),
    rate: needed[kind]?.rate ?? pick([200, 400, 800, 1500]),
    shape,
    gateway,
    faults,
    allowedDrops: allowed[kind] ?? [],
    harmlessDrops: harmless[kind] ?? []
  };
  return kind === 'slow-link' ? slowLink(schedule, draw) : schedule;
}

module.exports = { drawSchedule, KINDS, LINKS, UPLINK, GATEWAY, PEOPLE };
