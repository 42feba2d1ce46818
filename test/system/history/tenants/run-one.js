'use strict';
// One run: load and faults of a schedule on a lab, then the wait until all has arrived, then the check.

const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../../bench/harness/net');
const { seeded } = require('../../../fixtures/random');
const { Device } = require('../devices/device');
const { payloadOf } = require('../devices/payload');
const { check, nameOf } = require('./checker');
const { faults, wait } = require('./faults');
const { TENANTS } = require('./schedule');

/** @typedef {import('./lab').Lab} Lab */
/** @typedef {import('./schedule').Schedule} Schedule */
/** @typedef {import('./checker').History} History */

const TICK_MS = 10;
/** The number of ten records with class 1, 2, 3, 4. */
const MIX = [1, 2, 2, 3, 3, 3, 3, 4, 4, 4];
/** When the last fault is over, everything has arrived within this time, also on a busy machine. */
const SETTLE_MS = 90000;
/** Copies that still come arrive within this time after the last record. */
const QUIET_MS = 300;

/** Reads what a tenant noted since the run began. */
class Notes {
  /** @param {string} file */
  constructor(file) {
    this.file = file;
    this.offset = fs.existsSync(file) ? fs.statSync(file).size : 0;
    this.rest = '';
    /** @type {any[]} */
    this.lines = [];
  }

  /** @returns {any[]} the new lines */
  read() {
    if (!fs.existsSync(this.file)) return [];
    const file = fs.openSync(this.file, 'r');
    const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(file).size - this.offset));
    this.offset += fs.readSync(file, bytes, 0, bytes.length, this.offset);
    fs.closeSync(file);
    const parts = (this.rest + bytes.toString('utf8')).split('\n');
    this.rest = parts.pop() ?? '';
    const fresh = parts.map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        return null;
      }
    });
    this.lines.push(...fresh);
    return fresh;
  }
}

/** Devices of all tenants. */
class Load {
  /** @param {Lab} lab @param {Schedule} schedule @param {History} history @param {() => number} clock */
  constructor(lab, schedule, history, clock) {
    this.schedule = schedule;
    this.random = seeded(schedule.seed ^ 0x10ad);
    /** @type {Map<string, Device[]>} */
    this.devices = new Map();
    for (const tenant of TENANTS) {
      const all = Array.from({ length: schedule.devices }, (_, i) => {
        // The same names in each tenant.
        const id = `${tenant}/dev-${i}@${schedule.seed}`;
        return new Device({
          id,
          port: lab.port,
          clock,
          maxUnacked: 400,
          login: lab.loginOf(tenant, i),
          topicOf: (_id, recordClass) => `d/dev-${i}/c${recordClass}`,
          payloadOf: (recordClass, n) => {
            const payload = payloadOf(schedule.shape, id, recordClass, n);
            return { payload, hash: JSON.parse(payload).hash };
          },
          log: (event) => history.devices.push(event),
          onProblem: (what, text) => history.findings.push({ what, text })
        });
      });
      this.devices.set(tenant, all);
    }
  }

  get all() {
    return [...this.devices.values()].flat();
  }

  get unacked() {
    return this.all.reduce((sum, { unacked }) => sum + unacked.size, 0);
  }

  async connect() {
    for (const device of this.all) device.connect();
    const isReady = () => this.all.every(({ isConnected }) => isConnected);
    await eventually(isReady, { timeoutMs: 60000, what: 'every device connected' });
  }

  /** Publishes the bursts. @param {() => number} clock since the start of the load */
  start(clock) {
    const due = this.schedule.bursts.map(() => 0);
    let last = clock();
    this.timer = setInterval(() => {
      const now = clock();
      this.schedule.bursts.forEach(({ at, for: length, tenant, rate }, i) => {
        const ms = Math.min(now, at + length) - Math.max(last, at);
        if (ms <= 0) return;
        due[i] = Math.min(due[i] + (ms * rate) / 1000, 200);
        for (; due[i] >= 1; due[i]--) this.#publish(tenant);
      });
      last = now;
    }, TICK_MS);
  }

  /** @param {string} tenant */
  #publish(tenant) {
    const { integer } = this.random;
    const all = this.devices.get(tenant) ?? [];
    all[integer(all.length)].publish(MIX[integer(MIX.length)]);
  }

  quiet() {
    clearInterval(this.timer);
  }

  stop() {
    this.quiet();
    for (const device of this.all) device.stop();
  }
}

/** Records that were acknowledged and have not arrived. */
class Owed {
  /** @param {History} history @param {Map<string, Notes>} notes */
  constructor(history, notes) {
    this.history = history;
    this.notes = notes;
    this.seen = 0;
    /** @type {Set<string>} */
    this.names = new Set();
    /** @type {Set<string>} */
    this.arrived = new Set();
  }

  look() {
    const { devices } = this.history;
    let isNew = false;
    for (const notes of this.notes.values()) {
      for (const line of notes.read()) {
        isNew = true;
        if (!line?.p || line.failed) continue;
        const name = nameOf(line.p);
        this.arrived.add(name);
        this.names.delete(name);
      }
    }
    for (; this.seen < devices.length; this.seen++) {
      const event = devices[this.seen];
      const name = nameOf(event);
      if (event.type === 'ack' && !this.arrived.has(name)) this.names.add(name);
    }
    return { count: this.names.size, isNew };
  }
}

/** @param {Lab} lab @param {Schedule} schedule @param {History} history @param {() => number} clock */
async function haveFaults(lab, schedule, history, clock) {
  const start = clock();
  await Promise.all(
    schedule.faults.map(async (fault) => {
      await wait(Math.max(0, start + fault.at - clock()));
      const reported = { kind: fault.kind, tenant: fault.tenant, time: clock(), until: Infinity };
      history.faults.push(reported);
      await faults[fault.kind](lab, fault, schedule.times);
      reported.until = clock();
    })
  );
  await wait(Math.max(0, start + schedule.seconds * 1000 - clock()));
}

/**
 * Waits until everything has arrived and nothing more comes.
 * @param {Load} load @param {Owed} owed @param {Lab} lab @param {History} history
 * @returns {Promise<number>} ms
 */
async function settle(load, owed, lab, history) {
  const start = performance.now();
  let quietSince = start;
  for (;;) {
    const { count, isNew } = owed.look();
    const now = performance.now();
    if (isNew || count > 0 || load.unacked > 0) quietSince = now;
    if (now - quietSince >= QUIET_MS) {
      // A copy that is on its way is still kept in the front.
      const stats = await lab.stats();
      const held = total(stats?.heldRecords) + total(stats?.backlogRecords);
      if (stats && held === 0) return now - start;
    }
    if (now - start > SETTLE_MS) {
      const stats = await lab.stats();
      const text = `after ${SETTLE_MS / 1000} s ${count} acknowledged records have not arrived, ${load.unacked} are not acknowledged, the front keeps ${total(stats?.heldRecords) + total(stats?.backlogRecords)}`;
      history.findings.push({ what: 'stuck', text: `${text}; ${JSON.stringify(stats?.tenants ?? null)}` });
      return now - start;
    }
    await wait(50);
  }
}

/** @param {number[] | undefined} byClass */
const total = (byClass) => (byClass ?? []).reduce((sum, each) => sum + each, 0);

/**
 * @param {Schedule} schedule
 * @param {{lab: Lab, folder: string}} options folder: for the files of a run that is not valid
 */
async function runOne(schedule, { lab, folder }) {
  const started = performance.now();
  const clock = () => performance.now() - started;
  /** @type {History} */
  const history = { seed: schedule.seed, devices: [], lines: {}, killed: [], findings: [], faults: [] };
  const notes = new Map(TENANTS.map((name) => [name, new Notes(lab.arrived(name))]));
  // The changed times also end the back-off of earlier runs.
  lab.write(schedule.times);
  lab.slow(schedule.flowMs);
  await lab.ask('POST', '/v1/reload', {});
  const load = new Load(lab, schedule, history, clock);
  let settledMs;
  try {
    await load.connect();
    const begun = clock();
    load.start(() => clock() - begun);
    await haveFaults(lab, schedule, history, clock);
    load.quiet();
    settledMs = await settle(load, new Owed(history, notes), lab, history);
    for (const part of /** @type {const} */ (['front', 'keeper']))
      if (lab[part]?.exit) history.findings.push({ what: 'exit', text: `the ${part} ended by itself` });
  } finally {
    load.stop();
  }
  history.killed = [...lab.killed];
  for (const [name, { lines }] of notes) history.lines[name] = lines;
  const verdict = check(history);
  if (!verdict.valid) keep(folder, { schedule, history, verdict, output: lab.output });
  return { schedule, verdict, settledMs, wallMs: performance.now() - started };
}

/** @param {string} folder @param {any} files */
function keep(folder, { output, ...files }) {
  for (const [name, content] of Object.entries(files))
    fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(content, null, 1));
  fs.writeFileSync(path.join(folder, 'output.log'), output);
}

/** @typedef {Awaited<ReturnType<typeof runOne>>} Result */

module.exports = { runOne };
