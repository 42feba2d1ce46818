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
  /**
   * @param {(sentence: string) => void} say
   * @param {() => number} [now] ms
   */
  constructor(say, now = () => performance.now()) {
    this.say_ = say;
    this.now_ = now;
    /** @type {Map<string, { saidAt: number, lastAt: number, quietMs: number, kept: number }>} */
    this.kinds_ = new Map();
  }

  /**
   * @param {string} kind problems of one kind count together
   * @param {string} sentence
   * @param {number} [count] occurrences
   */
  tell(kind, sentence, count = 1) {
    const now = this.now_();
    const before = this.kinds_.get(kind);
    if (before && now - before.saidAt < before.quietMs) {
      before.kept += count;
      before.lastAt = now;
      return;
    }
    this.kinds_.delete(kind);
    const [oldest] = this.kinds_.keys();
    if (this.kinds_.size >= MAX_KINDS && oldest !== undefined) this.kinds_.delete(oldest);
    const goesOn = before !== undefined && now - before.lastAt < before.quietMs;
    const quietMs = goesOn ? Math.min(MOST_QUIET_MS, before.quietMs * 2) : QUIET_MS;
    this.kinds_.set(kind, { saidAt: now, lastAt: now, quietMs, kept: 0 });
    const kept = (before?.kept ?? 0) + count - 1;
    const since = before ? `And ${kept} more times since the last message about this.` : `${count} times.`;
    this.say_(kept > 0 ? `${sentence} (${since})` : sentence);
  }
}

exports.Complaints = Complaints;
