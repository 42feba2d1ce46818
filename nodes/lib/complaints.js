'use strict';

const QUIET_MS = 60000;
const MAX_KINDS = 100;

/** Says what went wrong, but the same thing once a minute at most, and how often it was. */
class Complaints {
  /**
   * @param {(sentence: string) => void} say
   * @param {() => number} [now] ms
   */
  constructor(say, now = () => performance.now()) {
    this.say_ = say;
    this.now_ = now;
    /** @type {Map<string, { at: number, kept: number }>} */
    this.kinds_ = new Map();
  }

  /**
   * @param {string} kind what counts as the same
   * @param {string} sentence
   */
  tell(kind, sentence) {
    const before = this.kinds_.get(kind);
    if (before && this.now_() - before.at < QUIET_MS) {
      before.kept++;
      return;
    }
    this.kinds_.delete(kind);
    const [oldest] = this.kinds_.keys();
    if (this.kinds_.size >= MAX_KINDS && oldest !== undefined) this.kinds_.delete(oldest);
    this.kinds_.set(kind, { at: this.now_(), kept: 0 });
    this.say_(before?.kept ? `${sentence} (And ${before.kept} times since the last word on it.)` : sentence);
  }
}

exports.Complaints = Complaints;
