'use strict';
// Keeps the paths healthy: receives link events, probes the broker over each path, and brings the network to the
// desired state.

const { prepare } = require('./path-steps-run');
const { Health, fatesOf } = require('./path-health');
const { endpointIdOf } = require('./path-numbers');
const { doubleProbe } = require('./double-probe');

/** Events come in bursts. */
const SETTLE_MS = 50;
/** Delay after a failed step. */
const AGAIN_MS = 1000;
/** Another program may remove rules and endpoints, which no event reports. */
const EVERY_MS = 10_000;
const HEARTBEAT_MS = 5000;
const QUALITY_MS = 1000;

/** @typedef {import('./path-selection').Path} Path */
/** @typedef {import('./path-steps-run').View} View */
/**
 * isStale: it was not up since its endpoint was created. since: wall-clock ms. asked: number of the probe that counts;
 * askedAt: when it was sent.
 * @typedef {object} Watched
 * @property {Path} path
 * @property {InstanceType<typeof Health>} health
 * @property {boolean} isStale
 * @property {boolean} isAsking
 * @property {number} asked
 * @property {number} askedAt
 * @property {number} endpointId
 * @property {string} lastNote
 * @property {number} since
 */
/**
 * @typedef {object} Parts all external effects
 * @property {() => Promise<View>} view
 * @property {(prepared: import('./path-steps-run').Prepared) => Promise<void>} change
 * @property {((path: Path, timeoutMs: number) => Promise<import('./path-probe').Answer>) | null} ask null = there is no
 *   broker to probe
 * @property {InstanceType<typeof import('./quality-watch').QualityWatch>} [qualityWatch] of the paths
 * @property {(mptcp: boolean, paths: import('./paths-status-file').PathStatus[]) => void} report
 * @property {(path: string, state: string, why: string) => void} log path '' = about all paths
 * @property {() => number} now ms, monotonic
 * @property {() => number} calendar ms since 1970
 */

class Watcher {
  #settings;
  /** By name. @type {Map<string, Watched>} */
  #paths;
  #hasMptcp;
  #isStopped;
  /** @type {Promise<void> | null} */
  #working;
  #isWanted;
  #complaint;
  /** Why the status cannot be written, '' = it is. */
  #silence;
  /** @type {NodeJS.Timeout | undefined} */
  #settle;
  /** @type {NodeJS.Timeout | undefined} */
  #tick;
  /** @type {NodeJS.Timeout[]} */
  #intervals;

  /** @param {Parts} parts @param {import('./path-health').Settings} settings */
  constructor(parts, settings) {
    this.parts = parts;
    this.#settings = settings;
    this.#paths = new Map();
    this.#hasMptcp = false;
    this.#isStopped = false;
    this.#working = null;
    this.#isWanted = false;
    this.#complaint = '';
    this.#silence = '';
    this.#settle = undefined;
    this.#tick = undefined;
    this.#intervals = [];
  }

  /** Starts watching. Resolves when the network is in the desired state for the first time. */
  async start() {
    this.#intervals = [
      setInterval(() => this.work(), EVERY_MS),
      setInterval(() => this.#tell(), HEARTBEAT_MS),
      setInterval(() => this.#evaluate(), QUALITY_MS)
    ];
    await this.work();
  }

  /** Stops watching. Resolves when running work is done. */
  async stop() {
    this.#isStopped = true;
    clearTimeout(this.#settle);
    clearTimeout(this.#tick);
    this.#intervals.forEach((interval) => clearInterval(interval));
    await this.#working;
    // Without a watch, these paths would never become active again.
    if (this.parts.qualityWatch?.rest()) await this.#workOnce().catch(() => {});
  }

  /** @param {import('./monitor-lines').Event} event */
  event({ kind, device, carrier }) {
    const watched = [...this.#paths.values()].filter(({ path }) => path.interface === device);
    // With a routing daemon, there are thousands of route events on other interfaces.
    if (kind === 'route' && watched.length === 0 && this.#paths.size > 0) return;
    // Without delay: packets in flight on this path must move to another now.
    if (kind === 'link' && carrier === false && watched.length > 0) void this.work();
    else this.#workIn(SETTLE_MS);
  }

  /**
   * Inspects the network and applies the desired state, once more if it is called again meanwhile.
   * @returns {Promise<void>} never rejects
   */
  work() {
    this.#isWanted = true;
    this.#working ??= this.#workAll().finally(() => {
      this.#working = null;
    });
    return this.#working;
  }

  /** @param {number} ms */
  #workIn(ms) {
    if (this.#isStopped) return;
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      void this.work();
    }, ms);
  }

  async #workAll() {
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      try {
        await this.#workOnce();
        this.#complain('');
      } catch (error) {
        // An interface may disappear between inspection and step: the next inspection detects that.
        this.#complain(/** @type {Error} */ (error).message);
        this.#workIn(AGAIN_MS);
      }
    }
    this.#tell();
    this.#schedule();
  }

  async #workOnce() {
    const seen = await this.parts.view();
    this.#hasMptcp = seen.facts.mptcp;
    this.#follow(seen.paths);
    const list = [...this.#paths.values()];
    const fates = new Map(
      fatesOf(list.map(({ health: { state, isKnown }, isStale }) => ({ state, isKnown, isStale }))).map(
        (fate, i) => [list[i].path.name, fate]
      )
    );
    const { qualityWatch } = this.parts;
    const paths = qualityWatch
      ? seen.paths.map((path) => ({ ...path, role: qualityWatch.roleOf(path) }))
      : seen.paths;
    const prepared = prepare({ ...seen, paths }, ({ name }) => fates.get(name) ?? 'kept');
    await this.parts.change(prepared);
    for (const watched of list) this.#done(watched, fates.get(watched.path.name) ?? 'kept', prepared);
  }

  /** @param {Path[]} paths their present state */
  #follow(paths) {
    for (const name of this.#paths.keys()) {
      if (!paths.some((path) => path.name === name)) this.#paths.delete(name);
    }
    const now = this.parts.now();
    for (const path of paths) {
      let watched = this.#paths.get(path.name);
      if (!watched) {
        const health = new Health(this.#settings, now);
        const since = this.parts.calendar();
        const asking = { isAsking: false, asked: 0, askedAt: 0 };
        watched = { path, health, isStale: false, ...asking, endpointId: 0, lastNote: '', since };
        this.#paths.set(path.name, watched);
      }
      watched.path = path;
      watched.health.link(path, now);
      this.#note(watched);
    }
  }

  /**
   * @param {Watched} watched
   * @param {import('./desired-state').Fate} fate
   * @param {import('./path-steps-run').Prepared} prepared
   */
  #done(watched, fate, { facts, foreign }) {
    const { path } = watched;
    const id = endpointIdOf(path.slot);
    const there = facts.endpoints.find((endpoint) => endpoint.id === id && !foreign.includes(endpoint));
    const other = foreign.find(({ address }) => address === path.address);
    if (fate === 'gone') watched.endpointId = 0;
    else if (fate === 'kept') watched.endpointId = there ? id : 0;
    else {
      watched.endpointId = other ? other.id : facts.mptcp ? id : 0;
      watched.isStale = false;
    }
  }

  /** Logs one line for each change. @param {Watched} watched */
  #note(watched) {
    const { health, path } = watched;
    if (health.state !== 'up' && health.isKnown) watched.isStale = true;
    const note = `${health.state}: ${health.why}`;
    if (note === watched.lastNote) return;
    const isSame = watched.lastNote.startsWith(`${health.state}:`);
    watched.lastNote = note;
    if (isSame && health.state === 'up') return;
    if (!isSame) watched.since = this.parts.calendar();
    this.parts.log(path.name, health.state, health.why);
  }

  /** @param {string} message '' = resolved */
  #complain(message) {
    if (message === this.#complaint) return;
    this.#complaint = message;
    this.parts.log(
      '',
      message === '' ? 'done' : 'failed',
      message === '' ? 'the failed step has succeeded' : message
    );
  }

  /** Writes the status, or logs why that is not possible: it must not end the watch. */
  #tell() {
    if (this.#isStopped) return;
    let problem = '';
    try {
      this.#report();
    } catch (error) {
      problem = /** @type {Error} */ (error).message;
    }
    if (problem === this.#silence) return;
    this.#silence = problem;
    if (problem) this.parts.log('', 'failed', `The status cannot be written: ${problem}`);
    else this.parts.log('', 'done', 'The status is written again.');
  }

  #report() {
    const paths = [...this.#paths.values()].map(({ path, health, since, endpointId }) => ({
      name: path.name,
      interface: path.interface,
      address: path.address,
      role: path.role,
      metered: path.metered,
      state: health.state,
      why: health.why,
      since: new Date(since).toISOString(),
      endpointId,
      ...this.parts.qualityWatch?.report(path, this.parts.now())
    }));
    this.parts.report(this.#hasMptcp, paths);
  }

  /**
   * Updates the quality of the paths. Logs a line for each change of the advice, and applies it if the user has enabled
   * that.
   */
  #evaluate() {
    const { qualityWatch, log, now } = this.parts;
    if (!qualityWatch) return;
    const subjects = [...this.#paths.values()].map(({ path, health }) => ({
      path,
      isUp: health.state === 'up'
    }));
    const news = qualityWatch.evaluate(subjects, now());
    for (const { name, role, why } of news) {
      if (qualityWatch.acts) log(name, role, why);
      else log(name, 'advice', `${role}: ${why}`);
    }
    if (news.length === 0) return;
    if (qualityWatch.acts) void this.work();
    else this.#tell();
  }

  /** Schedules the next probe. */
  #schedule() {
    clearTimeout(this.#tick);
    const { ask } = this.parts;
    if (this.#isStopped || !ask) return;
    const next = Math.min(
      ...[...this.#paths.values()].map(({ isAsking, health }) => (isAsking ? Infinity : health.nextProbeAt))
    );
    if (next === Infinity) return;
    this.#tick = setTimeout(() => this.#askDue(ask), Math.max(0, next - this.parts.now()));
  }

  /** @param {NonNullable<Parts['ask']>} ask */
  #askDue(ask) {
    const now = this.parts.now();
    for (const watched of this.#paths.values()) {
      if (!watched.isAsking && watched.health.nextProbeAt <= now) void this.#ask(watched, ask);
    }
    this.#schedule();
  }

  /** @param {Watched} watched @param {NonNullable<Parts['ask']>} ask */
  async #ask(watched, ask) {
    const { address } = watched.path;
    const before = watched.health.state;
    const asked = ++watched.asked;
    watched.askedAt = this.parts.now();
    watched.isAsking = true;
    const { isFastProbe, timeoutMs } = watched.health;
    const { path } = watched;
    const answer = await (isFastProbe ? doubleProbe(() => ask(path, timeoutMs)) : ask(path, timeoutMs));
    // A later probe has replaced this one.
    if (asked !== watched.asked) return;
    watched.isAsking = false;
    if (this.#isStopped) return;
    const now = this.parts.now();
    // An answer for an address that the path no longer has is ignored.
    if (watched.path.address === address) {
      const tookMs = now - watched.askedAt;
      const counts = !isFastProbe && before === 'up' && watched.health.state === 'up';
      this.parts.qualityWatch?.probed(path.name, { ok: answer.ok, ms: tookMs, counts }, now);
      watched.health.probed(answer, now, tookMs);
    }
    this.#note(watched);
    if (watched.health.state !== before) void this.work();
    else this.#schedule();
  }

  /**
   * Handles a hint: a user of this path reports silence. Ignored if no other path is up, because earlier detection
   * would not help.
   * @param {import('./probe-hints').Hint} hint
   */
  suspect({ path: named, rttMs }) {
    const all = [...this.#paths.values()];
    const watched = all.find(({ path }) => path.name === named || path.address === named);
    const hasOther = all.some((other) => other !== watched && other.health.state === 'up');
    if (this.#isStopped || !watched || !hasOther) return;
    if (!watched.health.suspect(rttMs, this.parts.now())) return;
    // A pending probe no longer counts.
    watched.asked++;
    watched.isAsking = false;
    this.#schedule();
  }
}

module.exports = { Watcher };
