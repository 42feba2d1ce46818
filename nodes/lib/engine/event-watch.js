'use strict';
// Makes events of what the parts of a gateway know anyway: the states of engines, uplinks and logs, the counters of
// drops, device events, refused logins, and the clock.

const fs = require('node:fs');
const { matchesGlob } = require('../base/glob');
const { eachSecond } = require('../base/timing/each-second');
const { additions } = require('./additions');
const { endFact, ends } = require('./certificates');

/** Seconds between two looks: as many as a still engine skips. */
const REST = 2;
/** An engine that is gone for less is being deployed. */
const DEPLOY_MS = 60_000;
const DISK_MS = 60_000;
/** A disk with less free space is low, if the log may still need more than that. */
const LOW_BYTES = 256 << 20;
const CERTIFICATES_MS = 3_600_000;
/** The clock moved by more than this between two looks. A clock that is slewed moves by 1 ms. */
const STEP_MS = 2000;
/** States of a session that is neither up nor down. */
const ON_THE_WAY = ['connecting', 'stopped'];
const OBSERVED = ['uplink', 'engine', 'log', 'disk', 'certificate', 'identity'];

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./join').EngineNode} EngineNode
 * @typedef {import('../events/event-book').Fact} Fact
 *
 * What the watch knows of a running engine.
 * @typedef {object} Watched
 * @property {Record<string, number[]>} drops at the last look
 * @property {Map<string, number>} moves of uplinks with several URLs at the last look, by broker node
 * @property {Map<number, { count: number, address: string }>} refused logins since then, by stage
 * @property {number} freeBytes of the disk of its log, -1 = unknown
 * @property {number} diskAt when that is read again
 */

class EventWatch {
  #RED;
  #engines;
  #book;
  #now;
  #wall;
  #startedAt;
  /** Date.now() minus the monotonic clock, at the last look. */
  #offset;
  /** When the engines were last there, by id. @type {Map<string, number>} */
  #seen = new Map();
  /** @type {WeakMap<EngineHost, Watched>} */
  #watched = new WeakMap();
  /** @type {Fact[]} */
  #certificates = [];
  #certificatesAt = -Infinity;
  #end;

  /**
   * @param {import('node-red').NodeAPI} RED
   * @param {Set<EngineNode>} engines all deployed engines, running or not
   * @param {import('../events/event-book').EventBook} book
   * @param {{ now?: () => number, wall?: () => number, onFault?: (error: Error) => void }} [options] clocks in ms:
   *   monotonic, and since 1970
   */
  constructor(RED, engines, book, options = {}) {
    const { now = () => performance.now(), wall = () => Date.now(), onFault } = options;
    this.#RED = RED;
    this.#engines = engines;
    this.#book = book;
    this.#now = now;
    this.#wall = wall;
    this.#startedAt = now();
    this.#offset = wall() - now();
    this.#end = eachSecond(() => {
      this.look();
      return REST;
    }, onFault);
  }

  close() {
    this.#end();
  }

  /** Call it every few seconds. */
  look() {
    const now = this.#now();
    for (const { id } of this.#engines) this.#seen.set(id, now);
    this.#lookAtClock(now);
    this.#lookAtCertificates(now);
    /** Nothing is known of the uplinks of these engines, of these uplinks, or of their certificates, yet. */
    const starting = new Set();
    const facts = [...this.#certificates, ...additions('facts').flatMap((added) => added())];
    for (const engine of this.#engines) facts.push(...this.#factsOf(engine, now, starting));
    this.#book.observe(OBSERVED, facts, ({ kind, engine, subject }) => {
      const isKnown = !starting.has(engine) && !starting.has(`${engine} ${kind} ${subject}`);
      if (['uplink', 'certificate'].includes(kind) && !isKnown) return true;
      const seenAt = this.#seen.get(engine) ?? this.#startedAt;
      return engine !== '' && seenAt < now && now - seenAt < DEPLOY_MS;
    });
    this.#book.tick();
  }

  /**
   * @param {EngineNode} node
   * @param {number} now
   * @param {Set<string>} starting ids of engines, and ids with a kind of event and the name of an uplink
   * @returns {Fact[]} what lasts
   */
  #factsOf({ id: engine, name = '', host, failure = '', watchDevices = [] }, now, starting) {
    const subject = name || engine;
    if (!host || host.closing) {
      starting.add(engine);
      return failure ? [{ kind: 'engine', engine, subject, params: { reason: failure } }] : [];
    }
    const watched = this.#watched.get(host) ?? this.#watch(host, engine, watchDevices);
    this.#count(host, engine, watched);
    this.#countMoves(host, engine, watched);
    if (!host.plan) starting.add(engine);
    return [
      ...uplinkFacts(host, engine, starting),
      ...certificateFacts(host, engine, starting, this.#wall()),
      ...this.#logFacts(host, engine, subject, watched, now)
    ];
  }

  /** @param {EngineHost} host @param {string} engine @param {string[]} globs of devices @returns {Watched} */
  #watch(host, engine, globs) {
    /** @type {Watched} */
    const watched = { drops: {}, moves: new Map(), refused: new Map(), freeBytes: -1, diskAt: -Infinity };
    this.#watched.set(host, watched);
    host.logins.onRefused = ({ stage, address }) => {
      const { count } = watched.refused.get(stage) ?? { count: 0 };
      watched.refused.set(stage, { count: count + 1, address });
    };
    host.deviceEvents.follow(({ kind, device: subject, reason }) => {
      if (kind === 'connected') this.#book.ends({ kind: 'device', engine, subject });
      const isSilent = kind === 'disconnected' && reason === 'keepAlive';
      if (isSilent && globs.some((glob) => matchesGlob(glob, subject)))
        this.#book.happens({ kind: 'device', engine, subject });
    });
    return watched;
  }

  /** Counts drops and refused logins. @param {EngineHost} host @param {string} engine @param {Watched} watched */
  #count(host, engine, watched) {
    const { drops = {} } = host.upkeep.stats ?? {};
    for (const [reason, counts] of Object.entries(drops)) {
      const before = watched.drops[reason] ?? [];
      for (const [recordClass, count] of counts.entries()) {
        const more = count - (before[recordClass] ?? 0);
        const params = { class: recordClass, reason };
        const subject = `class ${recordClass}: ${reason}`;
        if (more > 0) this.#book.happens({ kind: 'drops', engine, subject, params }, more);
      }
    }
    watched.drops = drops;
    for (const [stage, { count, address }] of watched.refused) {
      const node = host.members.find((member) => member.stage === stage)?.node;
      const subject = node?.name || node?.id || 'listener';
      this.#book.happens({ kind: 'login', engine, subject, params: { address } }, count);
    }
    watched.refused.clear();
  }

  /**
   * Reports changes of the URLs of uplinks.
   * @param {EngineHost} host
   * @param {string} engine
   * @param {Watched} watched
   */
  #countMoves({ uplinks }, engine, { moves }) {
    for (const { id, name: subject, state } of uplinks.links.keys()) {
      const { moved, failovers = 0, returns = 0 } = state;
      const before = moves.get(id) ?? 0;
      const count = failovers + returns;
      // A new thread counts from 0.
      moves.set(id, count);
      if (!moved || count <= before) continue;
      const { from, to, reason, isReturn } = moved;
      const params = { from, to, reason: (reason || 'connection closed').replace(/\.$/, '') };
      this.#book.happened(
        isReturn
          ? { kind: 'move', engine, subject, key: 'moveBack', severity: 'info', params }
          : { kind: 'move', engine, subject, params }
      );
    }
  }

  /**
   * @param {EngineHost} host
   * @param {string} engine
   * @param {string} subject
   * @param {Watched} watched
   * @param {number} now
   * @returns {Fact[]}
   */
  #logFacts({ log, replicas }, engine, subject, watched, now) {
    if (!log) return [];
    if (replicas?.state === 'degraded') {
      const params = { reason: replicas.reason };
      return [{ kind: 'log', engine, subject, key: 'diskAlone', severity: 'warning', params }];
    }
    const { state, bytes = 0, limitBytes = 0, directory } = log.view();
    if (now >= watched.diskAt) {
      watched.diskAt = now + DISK_MS;
      fs.promises.statfs(directory).then(
        ({ bavail, bsize }) => (watched.freeBytes = bavail * bsize),
        () => (watched.freeBytes = -1)
      );
    }
    const trouble = log.trouble();
    if (trouble) return [{ kind: 'log', engine, subject, params: { reason: trouble } }];
    if (state === 'full') return [{ kind: 'log', engine, subject, key: 'logDrops', severity: 'warning' }];
    const { freeBytes } = watched;
    const isLow = freeBytes >= 0 && freeBytes < Math.min(LOW_BYTES, limitBytes - bytes);
    return isLow
      ? [{ kind: 'disk', engine, subject, params: { free: Math.floor(freeBytes / 2 ** 20) } }]
      : [];
  }

  /** @param {number} now */
  #lookAtCertificates(now) {
    if (now < this.#certificatesAt) return;
    this.#certificatesAt = now + CERTIFICATES_MS;
    this.#certificates = ends(this.#RED, this.#wall());
  }

  /** @param {number} now */
  #lookAtClock(now) {
    const offset = this.#wall() - now;
    const step = offset - this.#offset;
    this.#offset = offset;
    if (Math.abs(step) < STEP_MS) return;
    const params = { seconds: Math.round(Math.abs(step) / 1000) };
    this.#book.happened({
      kind: 'clock',
      subject: '',
      key: step > 0 ? 'clockForward' : 'clockBack',
      params
    });
  }
}

/**
 * @param {EngineHost} host
 * @param {string} engine
 * @param {Set<string>} starting gets the uplinks that are neither up nor down
 * @returns {Fact[]} an uplink counts as its worst session
 */
function uplinkFacts({ uplinks }, engine, starting) {
  return [...uplinks.links.keys()].flatMap((link) => {
    const { name: subject, state } = link;
    const sessions = state.sessions?.length ? state.sessions : [state];
    const down = sessions.filter((each) => each.state !== 'connected' && !ON_THE_WAY.includes(each.state));
    const [worst] = down.toSorted((a, b) => Number(b.state === 'refused') - Number(a.state === 'refused'));
    if (!worst) {
      if (sessions.some((each) => each.state !== 'connected')) starting.add(`${engine} uplink ${subject}`);
      return [];
    }
    const { state: word, code = '', reason = '' } = worst;
    if (word === 'stalled') return [{ kind: 'uplink', engine, subject, key: 'uplinkStalled' }];
    const key = word === 'refused' ? 'uplinkRefused' : 'uplink';
    return [
      {
        kind: 'uplink',
        engine,
        subject,
        key,
        params: { reason: (reason || code || word).replace(/\.$/, '') }
      }
    ];
  });
}

/**
 * @param {EngineHost} host
 * @param {string} engine
 * @param {Set<string>} starting gets the uplinks whose broker was not reached yet
 * @param {number} now ms since 1970
 * @returns {Fact[]} certificates of brokers that end soon; that of an uplink which ends first
 */
function certificateFacts({ uplinks }, engine, starting, now) {
  return [...uplinks.links.keys()].flatMap(({ name: subject, state }) => {
    const { sessions = [] } = state;
    const known = sessions.flatMap(({ certificateEnds }) => certificateEnds || []);
    if (known.length === 0 && state.state !== 'connected') starting.add(`${engine} certificate ${subject}`);
    const fact = endFact(Math.min(...known), now, { engine, subject, key: 'certificateBroker' });
    return fact ? [fact] : [];
  });
}

exports.EventWatch = EventWatch;
