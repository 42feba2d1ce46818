'use strict';

const { Duplex, duplexPair } = require('node:stream');
const { bridge } = require('../../../nodes/lib/tls/stream-bridge');

describe('a bridge of streams', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());
  /** Lets the streams pass on what they have. */
  const settled = async () => {
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  };

  test('has no timer left after both of its sides have closed, whichever is first', async () => {
    for (const isFarFirst of [true, false]) {
      const [far, device] = duplexPair({ allowHalfOpen: true });
      const [near, engine] = duplexPair({ allowHalfOpen: true });
      bridge(far, near);
      if (isFarFirst) far.destroy();
      else device.resume().end();
      await settled();
      engine.resume().end();
      await settled();
      expect([far.destroyed, near.destroyed, jest.getTimerCount()]).toEqual([true, true, 0]);
    }
  });

  test('keeps a device that takes a chunk now and then, and closes one that takes nothing', async () => {
    /** Each takes a chunk. @type {(() => void)[]} */
    const takes = [];
    const far = new Duplex({
      writableHighWaterMark: 40,
      read() {},
      write: (_chunk, _encoding, done) => void takes.push(done)
    });
    const [near, engine] = duplexPair({ allowHalfOpen: true });
    bridge(far, near, { stallMs: 1000 });
    for (let i = 0; i < 4; i++) {
      engine.write(Buffer.alloc(10));
      await settled();
    }
    for (let left = 3; left > 0; left--) {
      jest.advanceTimersByTime(900);
      takes.shift()?.();
      await settled();
      expect([far.destroyed, far.writableLength]).toEqual([false, 10 * left]);
    }
    jest.advanceTimersByTime(1999);
    expect([far.destroyed, near.destroyed]).toEqual([true, true]);
  });
});
