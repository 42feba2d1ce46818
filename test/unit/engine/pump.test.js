'use strict';

const { Pump } = require('../../../nodes/lib/engine/pump');
const { writeFrame } = require('../../nodes/support/frames');

/** A pump over a list of frames, two in a buffer at a time. */
function pumpOf(frames, outlets) {
  const take = (into) => {
    const bytes = Buffer.concat(frames.splice(0, 2));
    return bytes.copy(into);
  };
  return new Pump(
    take,
    (stage) => outlets.get(stage),
    4096,
    (error) => {
      throw error;
    }
  );
}

const frame = (stage, topic) => writeFrame({ stage, topic });
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('sends each message to the node of its stage, in order', () => {
  const seen = [];
  const outlet = (name) => ({ send: ({ topic }) => seen.push(name + topic), origin: undefined });
  const outlets = new Map([
    [1, outlet('x')],
    [2, outlet('y')]
  ]);
  const pump = pumpOf([frame(1, 'a'), frame(2, 'b'), frame(1, 'c')], outlets);
  // A turn has a limit of time, which a busy machine can reach here.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  pump.run();
  clock.mockRestore();
  expect(seen).toEqual(['xa', 'yb', 'xc']);
});

test('counts a message whose node is gone', () => {
  const pump = pumpOf([frame(5, 'a')], new Map());
  pump.run();
  expect(pump.unclaimed).toBe(1);
});

test('reports a node whose send() throws, without delay for others', () => {
  const seen = [];
  const outlets = new Map([
    [
      1,
      {
        send: () => {
          throw new Error('a hook failed');
        },
        origin: undefined
      }
    ],
    [2, { send: ({ topic }) => seen.push(topic), origin: undefined }]
  ]);
  const frames = [frame(1, 'a'), frame(2, 'b')];
  const report = jest.fn();
  new Pump(
    (into) => Buffer.concat(frames.splice(0)).copy(into),
    (stage) => outlets.get(stage),
    4096,
    report
  ).run();
  expect(seen).toEqual(['b']);
  expect(report.mock.calls).toEqual([[expect.objectContaining({ message: 'a hook failed' })]]);
});

test('yields to the loop after 1,000 messages', async () => {
  let count = 0;
  const outlets = new Map([[1, { send: () => count++, origin: undefined }]]);
  const pump = pumpOf(
    Array.from({ length: 2500 }, () => frame(1, 'a')),
    outlets
  );
  pump.run();
  expect(count).toBeLessThanOrEqual(1000);
  while (count < 2500) {
    const before = count;
    await nextTurn();
    expect(count - before).toBeLessThanOrEqual(1000);
  }
});

test('leaves messages in place while it is paused', () => {
  let count = 0;
  const frames = [frame(1, 'a')];
  const pump = pumpOf(frames, new Map([[1, { send: () => count++, origin: undefined }]]));
  pump.paused = true;
  pump.run();
  expect([count, frames.length]).toEqual([0, 1]);
  pump.paused = false;
  pump.run();
  expect(count).toBe(1);
});

test('grows the buffer for a larger frame', () => {
  const seen = [];
  const large = writeFrame({ stage: 1, topic: 'x'.repeat(9000) });
  let waiting = large;
  const take = (into) => {
    if (!waiting) return 0;
    if (into.length < waiting.length) return -waiting.length;
    const bytes = waiting.copy(into);
    waiting = null;
    return bytes;
  };
  const outlets = new Map([[1, { send: ({ topic }) => seen.push(topic.length), origin: undefined }]]);
  new Pump(
    take,
    (stage) => outlets.get(stage),
    4096,
    () => {}
  ).run();
  expect(seen).toEqual([9000]);
});
