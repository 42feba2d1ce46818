'use strict';

const { EventEmitter } = require('node:events');
const { asError, guard } = require('../../../nodes/lib/base/guard');
const { onInput } = require('../../../nodes/lib/base/message-input');

/** A node with this input; the ends of its messages. */
function nodeWith(take) {
  const node = Object.assign(new EventEmitter(), { error: jest.fn() });
  onInput(/** @type {any} */ (node), take);
  const done = jest.fn();
  return { node, done, receive: (msg) => node.emit('input', msg, () => {}, done) };
}

test('a message that its node takes is done', () => {
  const { receive, done } = nodeWith((_msg, _send, finish) => finish());
  receive({});
  expect(done.mock.calls).toEqual([[undefined]]);
});

test('an error that is thrown ends the message, and not its caller', () => {
  const error = new Error('no record');
  const { receive, done } = nodeWith(() => {
    throw error;
  });
  receive({});
  expect(done.mock.calls).toEqual([[error]]);
});

test.each([undefined, null, 0, '', 'text', Symbol('s')])('what is thrown is an error, also %p', (thrown) => {
  const msg = {
    get payload() {
      throw thrown;
    }
  };
  const { receive, done } = nodeWith(({ payload }) => payload);
  receive(msg);
  expect(done.mock.calls).toEqual([[expect.any(Error)]]);
});

test('only the first end of a message counts', () => {
  const { receive, done } = nodeWith((_msg, _send, finish) => {
    finish();
    finish(new Error('again'));
    throw new Error('and again');
  });
  receive({});
  expect(done.mock.calls).toEqual([[undefined]]);
});

test('an end that throws, as with a message that cannot be copied, is logged', () => {
  const refused = new Error('refused');
  const { node, receive, done } = nodeWith((msg, _send, finish) => finish(msg.error));
  done.mockImplementation(() => {
    throw new Error('a getter threw');
  });
  receive({ error: refused });
  receive({});
  expect(node.error.mock.calls.map(([{ message }]) => message)).toEqual(['refused', 'a getter threw']);
});

test('a guarded call reports what it throws', () => {
  const report = jest.fn();
  const error = new Error('x');
  guard(() => {
    throw error;
  }, report);
  guard(() => {}, report);
  expect(report.mock.calls).toEqual([[error]]);
  expect(asError('text').message).toMatch(/string was thrown/);
});
