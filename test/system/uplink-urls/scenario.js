'use strict';
// Fail-overs between real brokers that know nothing of each other, under a steady load of the real engine and the
// real uplink thread.

const fs = require('node:fs');
const path = require('node:path');
const { temporaryCertificates } = require('../../../bench/harness/certificates');
const { Broker, until } = require('../../../bench/harness/broker');
const { ExpressBench } = require('../../fixtures/uplink/express-bench');
const { draws } = require('../../fixtures/random');

/** Of the broker where the uplink is; login and tls: it is killed, and the next one refuses the gateway so. */
const FAULTS = /** @type {const} */ (['kill', 'stop', 'freeze', 'login', 'tls']);
const CLASSES = [1, 3];
const SITES = 3;
const TICK_MS = 5;
const MOVE_MS = 30000;
const PUBLISH = /^Received PUBLISH from gw1-\d \(d(\d), q1, r0, m\d+, 'c\/(\d)\/(\d+)'/;

/** A broker that can be broken and repaired, and whose log is read while it grows. */
class Site {
  /** @param {Broker} broker @param {{ certFile: string, keyFile: string }} wrong certificate that nobody trusts */
  constructor(broker, wrong) {
    this.broker = broker;
    this.wrong = wrong;
    this.conf = path.join(broker.folder, 'conf');
    this.good = fs.readFileSync(this.conf, 'utf8');
    this.offset = 0;
    this.rest = '';
  }

  /** Returns the PUBLISH packets since the last call. @returns {{ dup: boolean, cls: number, number: number }[]} */
  read() {
    const { size } = fs.statSync(this.broker.logFile);
    const bytes = Buffer.alloc(size - this.offset);
    const fd = fs.openSync(this.broker.logFile, 'r');
    fs.readSync(fd, bytes, 0, bytes.length, this.offset);
    fs.closeSync(fd);
    this.offset = size;
    const lines = (this.rest + bytes.toString('latin1')).split('\n');
    this.rest = /** @type {string} */ (lines.pop());
    return lines.flatMap((line) => {
      const [, dup, cls, number] = PUBLISH.exec(line) ?? [];
      return number ? [{ dup: dup === '1', cls: Number(cls), number: Number(number) }] : [];
    });
  }

  /** @param {'kill' | 'stop' | 'freeze'} fault */
  async fail(fault) {
    if (fault === 'freeze') this.broker.process?.kill('SIGSTOP');
    else await (fault === 'stop' ? this.broker.stop() : this.broker.kill());
  }

  /** Accepts connections but not this gateway. @param {'login' | 'tls'} fault */
  async refuse(fault) {
    const { certFile, keyFile } = this.wrong;
    await this.broker.stop();
    await this.#restart(
      fault === 'login'
        ? this.good.replace('allow_anonymous true', 'allow_anonymous false')
        : this.good
            .replace(/^certfile .*$/m, `certfile ${certFile}`)
            .replace(/^keyfile .*$/m, `keyfile ${keyFile}`)
    );
  }

  async heal() {
    this.broker.process?.kill('SIGCONT');
    if (fs.readFileSync(this.conf, 'utf8') !== this.good) await this.broker.stop();
    if (!this.broker.process) await this.#restart(this.good);
  }

  /** @param {string} conf */
  async #restart(conf) {
    fs.writeFileSync(this.conf, conf);
    await this.broker.start();
  }
}

/** What arrived anywhere, in order: first copies count. */
class Arrivals {
  constructor() {
    this.seen = new Set();
    /** The number of the last first arrival, by class. @type {Map<number, number>} */
    this.last = new Map();
    this.copies = 0;
    this.disorder = 0;
    this.duplicateFlags = 0;
  }

  /** @param {{ dup: boolean, cls: number, number: number }[]} packets */
  add(packets) {
    for (const { dup, cls, number } of packets) {
      if (dup) this.duplicateFlags++;
      if (this.seen.has(number)) {
        this.copies++;
        continue;
      }
      this.seen.add(number);
      if (number < (this.last.get(cls) ?? 0)) this.disorder++;
      this.last.set(cls, number);
    }
  }
}

/**
 * @typedef {object} Outcome
 * @property {number} failovers
 * @property {number} sent
 * @property {number} lost
 * @property {number} unanswered records without an acknowledgement
 * @property {number} disorder records whose first copy arrived after a later one of its class
 * @property {number} copies
 * @property {number} longestGapMs between two arrivals of a class anywhere
 * @property {Record<string, number>} gaps the longest of each fault
 */

/**
 * @param {{ failovers: number, random: ReturnType<typeof import('../../fixtures/random').seeded>,
 *   log?: (line: string) => void }} options
 * @returns {Promise<Outcome>}
 */
async function runFailovers({ failovers, random, log = () => {} }) {
  const { shuffled } = draws(random);
  const wrong = temporaryCertificates();
  const sites = [];
  for (let i = 0; i < SITES; i++) sites.push(new Site(await Broker.start(), wrong));
  const bench = new ExpressBench({
    url: sites.map(({ broker }) => broker.url).join(','),
    tls: { ca: sites.map(({ broker }) => broker.ca).join('\n') },
    returnS: 0,
    groups: '1,2/3,4',
    ackTimeoutMs: 1000,
    refusedMinMs: 200,
    refusedMaxMs: 1000
  });
  const arrivals = new Arrivals();
  /** Where the uplink is, or was before the present fault. */
  let at = 0;
  /** @type {Map<number, number>} by class */
  const arrivedAt = new Map();
  let gapMs = 0;
  /** @type {Record<string, number>} */
  const gaps = {};
  const read = () => {
    // What a broker wrote before it failed comes before what another one wrote after that.
    const order = [sites[at], ...sites.filter((_, i) => i !== at)];
    const packets = order.flatMap((site) => site.read());
    arrivals.add(packets);
    const now = performance.now();
    for (const cls of new Set(packets.map((packet) => packet.cls))) {
      gapMs = Math.max(gapMs, now - (arrivedAt.get(cls) ?? now));
      arrivedAt.set(cls, now);
    }
  };
  const timer = setInterval(() => {
    for (const cls of CLASSES) bench.push(cls);
    read();
  }, TICK_MS);
  /** True if all sessions are at one URL, of those that are allowed. @param {(index: number) => boolean} isAllowed */
  const settled = (isAllowed) => {
    const { url = 1, urls = [], sessions = [] } = bench.last ?? {};
    const isThere = sessions.every(
      ({ state, url: own }) => state === 'connected' && own === urls[url - 1].url
    );
    return sessions.length > 0 && isThere && isAllowed(url - 1);
  };
  /** Waits until what is sent from now on arrives. */
  const flows = async () => {
    const { sent } = bench;
    await until(
      () => CLASSES.every((cls) => (arrivals.last.get(cls) ?? 0) > sent),
      MOVE_MS,
      'records arrive'
    );
  };
  try {
    await until(() => settled((index) => index === 0), MOVE_MS, 'the first URL');
    await flows();
    let faults = /** @type {typeof FAULTS[number][]} */ ([]);
    for (let i = 0; i < failovers; i++) {
      if (faults.length === 0) faults = shuffled(FAULTS);
      const fault = /** @type {typeof FAULTS[number]} */ (faults.pop());
      const isRefusal = fault === 'login' || fault === 'tls';
      const refusing = isRefusal ? (at === 0 ? 1 : 0) : -1;
      if (isRefusal) await sites[refusing].refuse(fault);
      await new Promise((resolve) => setTimeout(resolve, random.integer(200)));
      gapMs = 0;
      await sites[at].fail(isRefusal ? 'kill' : fault);
      await until(
        () => settled((index) => index !== at && index !== refusing),
        MOVE_MS,
        `fail-over ${i + 1} (${fault})`
      );
      await flows();
      const { url, urls, moved } = bench.last;
      const seen = isRefusal ? `, ${urls[refusing].code} at URL ${refusing + 1}` : '';
      log(
        `${i + 1}: ${fault}, from URL ${at + 1} to ${url}, gap ${Math.round(gapMs)} ms (${moved.code}${seen})`
      );
      gaps[fault] = Math.max(gaps[fault] ?? 0, Math.round(gapMs));
      const broken = isRefusal ? [sites[at], sites[refusing]] : [sites[at]];
      at = url - 1;
      for (const site of broken) await site.heal();
    }
    clearInterval(timer);
    await until(() => bench.held === 0, MOVE_MS, 'all records are acknowledged');
    read();
    const lost = Array.from({ length: bench.sent }, (_, i) => i + 1).filter(
      (each) => !arrivals.seen.has(each)
    );
    return {
      failovers: bench.last.failovers,
      sent: bench.sent,
      lost: lost.length,
      unanswered: bench.held + bench.failed.length,
      disorder: arrivals.disorder,
      copies: arrivals.copies,
      longestGapMs: Math.max(...Object.values(gaps)),
      gaps
    };
  } finally {
    clearInterval(timer);
    await bench.stop(0);
    for (const { broker } of sites) {
      broker.process?.kill('SIGCONT');
      await broker.remove();
    }
    wrong.remove();
  }
}

module.exports = { FAULTS, runFailovers };
