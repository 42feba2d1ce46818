'use strict';

const { performance } = require('node:perf_hooks');
const { Dictionary } = require('./dictionary');

/** @typedef {import('./dictionary').Session} DictionarySession */
/** @typedef {import('../sending/uplink-stage').Stage} Stage */

/**
 * A session of the uplink.
 * @typedef {DictionarySession & { limitedAt: () => number, isMetered: () => boolean, isSaving: () => boolean }} Session
 *   limitedAt: when its link was last the limit, ms of now(), -Infinity = never; isMetered: its records go over a path
 *   that costs by the byte; isSaving: its batches wait to save bytes
 */

/**
 * Why envelopes are compressed: the user chose a compression; the link of a session is the limit, or metered; batches
 * wait to save bytes.
 * @typedef {'chosen' | 'busy' | 'metered' | 'saving'} Why
 */

/** `auto` compresses for this long after the link was the limit. */
const AUTO_MS = 300000;
/** `auto` compresses while this thread works for less than this fraction of the time. */
const MAX_LOAD = 0.8;
/** Counters of the uplink, by those of CompressionNumbers. */
const NAMES = /** @type {const} */ ({
  compressedBatches: 'packed',
  compressedFrom: 'before',
  compressedTo: 'after',
  keptUncompressed: 'keptOut',
  compressionFailures: 'failures'
});

/** The compression of all stages of an uplink, on all its sessions. */
class Compression {
  #sessions;
  #now;
  #problem;
  #load;
  /** By topic. @type {Map<string, Dictionary>} */
  #dictionaries = new Map();
  /** Stages that compress. @type {Map<number, Stage>} */
  #stages = new Map();
  /** By session and stage, as last read. @type {Map<string, import('../../../../native').CompressionNumbers>} */
  #read = new Map();
  /** @type {Set<Why>} */
  #why = new Set();
  /** Of the dictionaries that were removed. */
  #changes = 0;
  #totals = {
    compressedBatches: 0,
    compressedFrom: 0,
    compressedTo: 0,
    keptUncompressed: 0,
    compressionFailures: 0
  };

  /**
   * @param {object} parts
   * @param {Session[]} parts.sessions the most urgent first
   * @param {() => number} parts.now ms, monotonic
   * @param {(code: string, reason: string) => void} parts.problem
   * @param {() => number} [parts.load] fraction of the time since its last call that this thread worked
   */
  constructor({ sessions, now, problem, load = threadLoad() }) {
    this.#sessions = sessions;
    this.#now = now;
    this.#problem = problem;
    this.#load = load;
  }

  /** True if a stage compresses, or something must be removed from the broker. */
  get isUsed() {
    return this.#stages.size > 0 || this.#dictionaries.size > 0;
  }

  /** Call it after the stages of the writers were set. @param {Map<number, Stage>} stages added or replaced */
  setStages(stages) {
    for (const [id, stage] of stages) {
      const before = this.#stages.get(id);
      if (before && excludesMore(before, stage)) this.#dictionaries.get(before.dictionaryTopic)?.forget();
      if (stage.compress && stage.compress !== 'off') this.#stages.set(id, stage);
      else this.#stages.delete(id);
    }
    // A stage that had auto may be switched off.
    for (const [id, { isAuto }] of this.#stages)
      if (!isAuto) for (const { writer } of this.#sessions) writer.setCompressing(id, true);
    this.#switchAuto(0);
    for (const topic of new Set([...this.#stages.values()].map((stage) => stage.dictionaryTopic))) {
      const { sessions, now, problem } = { sessions: this.#sessions, now: this.#now, problem: this.#problem };
      if (!this.#dictionaries.has(topic))
        this.#dictionaries.set(topic, new Dictionary({ topic, sessions, now, problem }));
    }
    for (const [topic, dictionary] of this.#dictionaries) {
      dictionary.setStages(
        [...this.#stages].flatMap(([id, each]) => (each.dictionaryTopic === topic ? [id] : []))
      );
    }
    this.#removeOver();
  }

  everySecond() {
    if (!this.isUsed) return;
    this.#switchAuto(this.#load());
    for (const dictionary of this.#dictionaries.values()) dictionary.everySecond();
    this.#removeOver();
  }

  /** Removes the dictionaries that no stage uses. */
  #removeOver() {
    for (const [topic, dictionary] of this.#dictionaries) {
      if (!dictionary.isOver) continue;
      this.#changes += dictionary.changes;
      this.#dictionaries.delete(topic);
    }
  }

  /** A connection has ended. */
  disconnected() {
    for (const dictionary of this.#dictionaries.values()) dictionary.disconnected();
  }

  /** @param {number} load */
  #switchAuto(load) {
    const automatic = [...this.#stages].flatMap(([id, { isAuto }]) => (isAuto ? [id] : []));
    this.#why = new Set(automatic.length < this.#stages.size ? ['chosen'] : []);
    if (automatic.length === 0) return;
    for (const session of this.#sessions) {
      const why = load < MAX_LOAD ? this.#reasons(session) : [];
      for (const each of why) this.#why.add(each);
      for (const id of automatic) session.writer.setCompressing(id, why.length > 0);
    }
  }

  /** @param {Session} session @returns {Why[]} none = a stage with auto does not compress now */
  #reasons({ limitedAt, isMetered, isSaving }) {
    const isBusy = this.#now() - limitedAt() < AUTO_MS;
    return [
      ...(isBusy ? [/** @type {const} */ ('busy')] : []),
      ...(isMetered() ? [/** @type {const} */ ('metered')] : []),
      ...(isSaving() ? [/** @type {const} */ ('saving')] : [])
    ];
  }

  /** Returns the counters of the uplink. */
  view() {
    for (const [index, { writer }] of this.#sessions.entries()) {
      for (const id of this.#stages.keys()) this.#count(`${index} ${id}`, writer.compression(id));
    }
    const dictionaries = [...this.#dictionaries.values()];
    return {
      ...this.#totals,
      dictionaries: dictionaries.reduce((sum, { changes }) => sum + changes, this.#changes),
      // Empty: a stage with auto is waiting for a reason.
      ...(this.#stages.size > 0 && { compressing: [...this.#why] })
    };
  }

  /** @param {string} key @param {import('../../../../native').CompressionNumbers | null} numbers */
  #count(key, numbers) {
    if (!numbers) return;
    const before = this.#read.get(key);
    // A stage whose compression changed counts from 0 again.
    const isNew = !before || before.packed > numbers.packed || before.keptOut > numbers.keptOut;
    for (const [name, field] of Object.entries(NAMES)) {
      this.#totals[/** @type {keyof typeof NAMES} */ (name)] += numbers[field] - (isNew ? 0 : before[field]);
    }
    this.#read.set(key, numbers);
  }
}

/**
 * True if topics must no longer be compressed that were compressed before.
 * @param {Pick<Stage, 'neverCompress'>} before
 * @param {Pick<Stage, 'neverCompress'>} after
 */
function excludesMore({ neverCompress: before = [] }, { neverCompress: after = [] }) {
  return after.some((filter) => !before.includes(filter));
}

/**
 * Measures this thread. The utilization of the event loop would count the naps of its turns (restUplink) as work.
 * @returns {() => number} see Compression
 */
function threadLoad() {
  let at = performance.now();
  let last = cpuMs();
  return () => {
    const [now, cpu] = [performance.now(), cpuMs()];
    const load = (cpu - last) / Math.max(1, now - at);
    [at, last] = [now, cpu];
    return load;
  };
}

/** Returns the CPU time of this thread, in Node.js 23.0 to 23.8 the time in callbacks of its event loop. */
function cpuMs() {
  if (!process.threadCpuUsage) return performance.eventLoopUtilization().active;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

module.exports = { Compression, threadLoad };
