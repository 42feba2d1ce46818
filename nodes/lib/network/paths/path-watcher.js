'use strict';
// Keeps the paths healthy: hears of links, asks the broker by each path, and makes the network what it should be.

const { prepare } = require('./path-steps-run');
const { Health, fatesOf } = require('./path-health');
const { endpointIdOf } = require('./path-numbers');
const { askTwice } = require('./double-probe');

/** Events come in bursts. */
const SETTLE_MS = 50;
/** After a step that failed. */
const AGAIN_MS = 1000;
/** Somebody may take away what no event tells of: rules and endpoints. */
const EVERY_MS = 10_000;
const HEARTBEAT_MS = 5000;
const JUDGE_MS = 1000;

/** @typedef {import('./path-selection').Path} Path */
/** @typedef {import('./path-steps-run').View} View */
/**
 * isStale: it was not up since its endpoint was made. since: ms of the calendar. asked: the probe that counts; askedAt: when it was sent.
 * @typedef {{ path: Path, health: InstanceType<typeof Health>, isStale: boolean, isAsking: boolean, asked: number, askedAt: number, endpointId: number, said: string, since: number }} Watched
 */
/**
 * @typedef {object} Parts everything that touches the world
 * @property {() => Promise<View>} view @property {(prepared: import('./path-steps-run').Prepared) => Promise<void>} change
 * @property {((path: Path, timeoutMs: number) => Promise<import('./path-probe').Answer>) | null} ask null = nobody to ask
 * @property {InstanceType<typeof import('./quality-watch').QualityWatch>} [qualityWatch] of their quality
 * @property {(mptcp: boolean, paths: import('./paths-status-file').PathStatus[]) => void} tell
 * @property {(path: string, state: string, why: string) => void} log path '' = of all
 * @property {() => number} now ms that do not go back @property {() => number} calendar ms since 1970
 */

class Watcher {
  /** @param {Parts} parts @param {import('./path-health').Settings} settings */
  constructor(parts, settings) {
    this.parts_ = parts;
    this.settings_ = settings;
    /** By name. @type {Map<string, Watched>} */
    this.paths_ = new Map();
    this.hasMptcp_ = false;
    this.isStopped_ = false;
    /** @type {Promise<void> | null} */
    this.working_ = null;
    this.isWanted_ = false;
    this.complaint_ = '';
    /** @type {NodeJS.Timeout | undefined} */
    this.settle_ = undefined;
    /** @type {NodeJS.Timeout | undefined} */
    this.tick_ = undefined;
    /** @type {NodeJS.Timeout[]} */
    this.intervals_ = [];
  }

  /** When the network is what it should be for the first time. */
  async start() {
    this.intervals_ = [
      setInterval(() => this.work(), EVERY_MS),
      setInterval(() => this.#tell(), HEARTBEAT_MS),
      setInterval(() => this.#evaluate(), JUDGE_MS)
    ];
    await this.work();
  }

  /** When what was begun is done. */
  async stop() {
    this.isStopped_ = true;
    clearTimeout(this.settle_);
    clearTimeout(this.tick_);
    this.intervals_.forEach((interval) => clearInterval(interval));
    await this.working_;
    // Without a watch nobody would make a path active again.
    if (this.parts_.qualityWatch?.rest()) await this.#workOnce().catch(() => {});
  }

  /** @param {import('./monitor-lines').Event} event */
  event({ kind, device, carrier }) {
    const watched = [...this.paths_.values()].filter(({ path }) => path.interface === device);
    // Routes of others come in thousands where a routing daemon runs.
    if (kind === 'route' && watched.length === 0 && this.paths_.size > 0) return;
    // Not to be waited for: what is under way by this path has to go by another now.
    if (kind === 'link' && carrier === false && watched.length > 0) void this.work();
    else this.#workIn(SETTLE_MS);
  }

  /** Looks, and makes it so; once more if it is asked for meanwhile. @returns {Promise<void>} never rejects */
  work() {
    this.isWanted_ = true;
    this.working_ ??= this.#workAll().finally(() => {
      this.working_ = null;
    });
    return this.working_;
  }

  /** @param {number} ms */
  #workIn(ms) {
    if (this.isStopped_) return;
    this.settle_ ??= setTimeout(() => {
      this.settle_ = undefined;
      void this.work();
    }, ms);
  }

  async #workAll() {
    while (this.isWanted_ && !this.isStopped_) {
      this.isWanted_ = false;
      try {
        await this.#workOnce();
        this.#complain('');
      } catch (error) {
        // An interface may go between the look and the step: the next look knows.
        this.#complain(/** @type {Error} */ (error).message);
        this.#workIn(AGAIN_MS);
      }
    }
    this.#tell();
    this.#schedule();
  }

  async #workOnce() {
    const seen = await this.parts_.view();
    this.hasMptcp_ = seen.facts.mptcp;
    this.#follow(seen.paths);
    const list = [...this.paths_.values()];
    const fates = new Map(
      fatesOf(list.map(({ health: { state, isKnown }, isStale }) => ({ state, isKnown, isStale }))).map(
        (fate, i) => [list[i].path.name, fate]
      )
    );
    const { qualityWatch } = this.parts_;
    const paths = qualityWatch
      ? seen.paths.map((path) => ({ ...path, role: qualityWatch.roleOf(path) }))
      : seen.paths;
    const prepared = prepare({ ...seen, paths }, ({ name }) => fates.get(name) ?? 'kept');
    await this.parts_.change(prepared);
    for (const of of list) this.#done(of, fates.get(of.path.name) ?? 'kept', prepared);
  }

  /** @param {Path[]} paths as they are now */
  #follow(paths) {
    for (const name of this.paths_.keys()) {
      if (!paths.some((path) => path.name === name)) this.paths_.delete(name);
    }
    const now = this.parts_.now();
    for (const path of paths) {
      let watched = this.paths_.get(path.name);
      if (!watched) {
        const health = new Health(this.settings_, now);
        const since = this.parts_.calendar();
        const asking = { isAsking: false, asked: 0, askedAt: 0 };
        watched = { path, health, isStale: false, ...asking, endpointId: 0, said: '', since };
        this.paths_.set(path.name, watched);
      }
      watched.path = path;
      watched.health.link(path, now);
      this.#note(watched);
    }
  }

  /** @param {Watched} watched @param {import('./desired-state').Fate} fate @param {import('./path-steps-run').Prepared} prepared */
  #done(watched, fate, { facts, foreign }) {
    const { path } = watched;
    const id = endpointIdOf(path.slot);
    const there = facts.endpoints.find((of) => of.id === id && !foreign.includes(of));
    const of = foreign.find(({ address }) => address === path.address);
    if (fate === 'gone') watched.endpointId = 0;
    else if (fate === 'kept') watched.endpointId = there ? id : 0;
    else {
      watched.endpointId = of ? of.id : facts.mptcp ? id : 0;
      watched.isStale = false;
    }
  }

  /** One line for each change. @param {Watched} watched */
  #note(watched) {
    const { health, path } = watched;
    if (health.state !== 'up' && health.isKnown) watched.isStale = true;
    const said = `${health.state}: ${health.why}`;
    if (said === watched.said) return;
    const isSame = watched.said.startsWith(`${health.state}:`);
    watched.said = said;
    if (isSame && health.state === 'up') return;
    if (!isSame) watched.since = this.parts_.calendar();
    this.parts_.log(path.name, health.state, health.why);
  }

  /** @param {string} message '' = all is well again */
  #complain(message) {
    if (message === this.complaint_) return;
    this.complaint_ = message;
    this.parts_.log(
      '',
      message === '' ? 'done' : 'failed',
      message === '' ? 'the failed step has succeeded' : message
    );
  }

  #tell() {
    if (this.isStopped_) return;
    const paths = [...this.paths_.values()].map(({ path, health, since, endpointId }) => ({
      ...{ name: path.name, interface: path.interface, address: path.address, role: path.role },
      ...{ state: health.state, why: health.why, since: new Date(since).toISOString(), endpointId },
      ...this.parts_.qualityWatch?.told(path, this.parts_.now())
    }));
    this.parts_.tell(this.hasMptcp_, paths);
  }

  /** Of their quality; a change of what is advised is a line, and is done where the user wants it so. */
  #evaluate() {
    const { qualityWatch, log, now } = this.parts_;
    if (!qualityWatch) return;
    const subjects = [...this.paths_.values()].map(({ path, health }) => ({
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

  /** The next probe. */
  #schedule() {
    clearTimeout(this.tick_);
    const { ask } = this.parts_;
    if (this.isStopped_ || !ask) return;
    const next = Math.min(
      ...[...this.paths_.values()].map(({ isAsking, health }) => (isAsking ? Infinity : health.nextProbeAt))
    );
    if (next === Infinity) return;
    this.tick_ = setTimeout(() => this.#askDue(ask), Math.max(0, next - this.parts_.now()));
  }

  /** @param {NonNullable<Parts['ask']>} ask */
  #askDue(ask) {
    const now = this.parts_.now();
    for (const watched of this.paths_.values()) {
      if (!watched.isAsking && watched.health.nextProbeAt <= now) void this.#ask(watched, ask);
    }
    this.#schedule();
  }

  /** @param {Watched} watched @param {NonNullable<Parts['ask']>} ask */
  async #ask(watched, ask) {
    const { address } = watched.path;
    const before = watched.health.state;
    const asked = ++watched.asked;
    watched.askedAt = this.parts_.now();
    watched.isAsking = true;
    const { isHasty, timeoutMs } = watched.health;
    const { path } = watched;
    const answer = await (isHasty ? askTwice(() => ask(path, timeoutMs)) : ask(path, timeoutMs));
    // Another was sent in its place.
    if (asked !== watched.asked) return;
    watched.isAsking = false;
    if (this.isStopped_) return;
    const now = this.parts_.now();
    // Of an address that it has no more it says nothing.
    if (watched.path.address === address) {
      const tookMs = now - watched.askedAt;
      const counts = !isHasty && before === 'up' && watched.health.state === 'up';
      this.parts_.qualityWatch?.probed(path.name, { ok: answer.ok, ms: tookMs, counts }, now);
      watched.health.probed(answer, now, tookMs);
    }
    this.#note(watched);
    if (watched.health.state !== before) void this.work();
    else this.#schedule();
  }

  /** Somebody who uses a path hears nothing on it. Where there is no other, nothing is won by knowing sooner. @param {import('./probe-hints').Hint} hint */
  suspect({ path: named, rttMs }) {
    const all = [...this.paths_.values()];
    const watched = all.find(({ path }) => path.name === named || path.address === named);
    const hasOther = all.some((other) => other !== watched && other.health.state === 'up');
    if (this.isStopped_ || !watched || !hasOther) return;
    if (!watched.health.suspect(rttMs, this.parts_.now())) return;
    // One that is on its way does not count any more.
    watched.asked++;
    watched.isAsking = false;
    this.#schedule();
  }
}

module.exports = { Watcher };
