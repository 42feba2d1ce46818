'use strict';

const { ReportQueue } = require('../../../nodes/lib/uplink/commands/report-queue');

/** A connection that the test plays. */
class Connection {
  /** @type {{ topic: string, done: (error?: Error | null) => void }[]} */
  published = [];

  /** @param {ReportQueue} queue */
  constructor(queue) {
    queue.connected({
      maxInFlight: 2,
      maxBytes: 0,
      qos: 1,
      publish: ({ topic }, _qos, done) => void this.published.push({ topic, done })
    });
  }

  get topics() {
    return this.published.map(({ topic }) => topic);
  }
}

/** @type {ReportQueue} */
let queue;
beforeEach(() => {
  queue = new ReportQueue(() => 0);
  for (const topic of ['a', 'b', 'c']) queue.add({ topic, payload: '' });
});

test('completes what is in flight while the connection ends in order, and sends nothing more on it', () => {
  const first = new Connection(queue);
  queue.leaving();
  queue.add({ topic: 'd', payload: '' });
  first.published[0].done();
  expect([first.topics, queue.sent, queue.size]).toEqual([['a', 'b'], 1, 3]);
  queue.disconnected();
  const next = new Connection(queue);
  expect(next.topics).toEqual(['b', 'c']);
  first.published[1].done();
  expect(queue.sent).toBe(1);
});

test('keeps a report that fails because the connection ends', () => {
  const first = new Connection(queue);
  queue.leaving();
  first.published[0].done(new Error('client disconnecting'));
  queue.disconnected();
  expect(new Connection(queue).topics).toEqual(['a', 'b']);
  expect(queue.dropped).toBe(0);
});
