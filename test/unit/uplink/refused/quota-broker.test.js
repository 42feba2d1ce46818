'use strict';

// The real engine and thread at a broker whose quota is used up again and again, over TCP.

const { until } = require('../../../../bench/harness/broker');
const { ExpressBench } = require('../../../fixtures/uplink/express-bench');
const { ScriptedBroker } = require('../../../fixtures/uplink/scripted-broker');

jest.setTimeout(60000);

const QUOTA = 0x97;
const RECORDS = 400;
/** A new quota needs a time in which the client sends nothing. */
const PAUSE_MS = 500;

/** Takes a hundred records, and then none before the client has paused: the second time twice. */
class QuotaBroker {
  accepted = [];
  refused = new Set();
  /** Records that arrived although others were refused, and a new quota had begun. */
  early = 0;
  /** Refused records that arrived again with DUP. */
  dups = 0;
  periods = 0;
  #pauses = 0;
  #lastAt = 0;

  /** @param {{ topic: string, dup: boolean }} packet @returns {number} reason code */
  answer({ topic, dup }) {
    const isPause = performance.now() - this.#lastAt >= PAUSE_MS;
    this.#lastAt = performance.now();
    if (dup) this.dups++;
    if (this.#pauses > 0 && isPause) this.#pauses--;
    if (this.#pauses === 0 && this.refused.size > 0 && !this.refused.has(topic)) this.early++;
    if (this.#pauses === 0 && this.periods < 3 && this.accepted.length >= 100 * (this.periods + 1))
      this.#pauses = ++this.periods === 2 ? 2 : 1;
    if (this.#pauses > 0) {
      this.refused.add(topic);
      return QUOTA;
    }
    this.refused.delete(topic);
    this.accepted.push(topic);
    return 0;
  }
}

test.each([1, 32])(
  'sends the refused records first, in order, and then all others (window %i)',
  async (inflight) => {
    const quota = new QuotaBroker();
    const broker = await ScriptedBroker.start({ puback: (packet) => quota.answer(packet) });
    const bench = new ExpressBench({ url: broker.url, inflight });
    try {
      for (let i = 0; i < RECORDS; i++) bench.push(3);
      // Nothing new comes to wake it.
      await until(() => bench.held === 0, 40000, 'all is delivered');
    } finally {
      await bench.stop(0);
      await broker.close();
    }
    expect(quota.accepted).toEqual(Array.from({ length: RECORDS }, (_, i) => `c/3/${i + 1}`));
    expect(quota).toMatchObject({ early: 0, dups: 0, periods: 3 });
    expect(bench.failed).toEqual([]);
  }
);
