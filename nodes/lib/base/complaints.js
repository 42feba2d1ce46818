'use strict';

const QUIET_MS = 60000;
const MOST_QUIET_MS = 3600000;
const MAX_KINDS = 100;

/**
 * Limits the rate of warnings. A kind of problem is reported immediately, then after a minute, and at intervals that
 * double up to an hour while it continues, each time with the number of occurrences. A kind that did not occur for the
 * last interval is new again.
 */
class Complaints {
  #say;
  #now;
  /** @type {Map<string, { saidAt: number, lastAt: number, quietMs: number, kept: number }>} */
  #kinds;

  /**
   * @param {(sentence: string) => void} say
   * @param {() => number} [now] ms
   */
  constructor(say, now = () => performance.now()) {
    this.#say = say;
    this.#now = now;
    this.#kinds = new Map();
  }

  /**
   * @param {string} kind problems of one kind count together
   * @param {string} sentence
   * @param {number} [count] occurrences
   */
  tell(kind, sentence, count = 1) {
    const isKnown = this.#kinds.has(kind);
    const kept = this.admit(kind, count);
    if (kept === null) return;
    const since = isKnown ? `And ${kept} more times since the last message about this.` : `${count} times.`;
    this.#say(kept > 0 ? `${sentence} (${since})` : sentence);
  }

  /**
   * Counts occurrences, for callers that write the report themselves.
   * @param {string} kind
   * @param {number} [count]
   * @returns {number | null} occurrences besides one that were not reported yet; null = report nothing now
   */
  admit(kind, count = 1) {
    const now = this.#now();
    const before = this.#kinds.get(kind);
    if (before && now - before.saidAt < before.quietMs) {
      before.kept += count;
      before.lastAt = now;
      return null;
    }
    this.#kinds.delete(kind);
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size >= MAX_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
    const goesOn = before !== undefined && now - before.lastAt < before.quietMs;
    const quietMs = goesOn ? Math.min(MOST_QUIET_MS, before.quietMs * 2) : QUIET_MS;
    this.#kinds.set(kind, { saidAt: now, lastAt: now, quietMs, kept: 0 });
    return (before?.kept ?? 0) + count - 1;
  }
}

exports.Complaints = Complaints;
