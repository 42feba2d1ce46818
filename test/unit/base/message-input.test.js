'use strict';

const { EventEmitter } = require('node:events');
const { asError, guard } = require('../../../nodes/lib/base/guard');
const { onInput } = require('../../../nodes/lib/base/message-input');

/** A node with this input; records how its messages end. */
function nodeWith(take) {
  const node = Object.assign(new EventEmitter(), { error: jest.fn() });
  onInput(/** @type {any} */ (node), take);
  const done = jest.fn();
  return { node, done, receive: (msg) => node.emit('input', msg, () => {}, done) };
}

test('completes a message that its node takes', () => {
  const { receive, done } = nodeWith((_msg, _send, finish) => finish());
  receive({});
  expect(done.mock.calls).toEqual([[undefined]]);
});

test('ends the message, not its caller, when an error is thrown', () => {
  const error = new Error('no record');
  const { receive, done } = nodeWith(() => {
    throw error;
  });
  receive({});
  expect(done.mock.calls).toEqual([[error]]);
});

test.each([undefined, null, 0, '', 'text', Symbol('s')])(
  'turns any thrown value into an error, also %p',
  (thrown) => {
    const msg = {
      get payload() {
        throw thrown;
      }
    };
    const { receive, done } = nodeWith(({ payload }) => payload);
    receive(msg);
    expect(done.mock.calls).toEqual([[expect.any(Error)]]);
  }
);

test('counts only the first completion of a message', () => {
  const { receive, done } = nodeWith((_msg, _send, finish) => {
    finish();
    finish(new Error('again'));
    throw new Error('and again');
  });
  receive({});
  expect(done.mock.calls).toEqual([[undefined]]);
});

test('logs a completion that throws, as for a message that cannot be copied', () => {
  const refused = new Error('refused');
  const { node, receive, done } = nodeWith((msg, _send, finish) => finish(msg.error));
  done.mockImplementation(() => {
    throw new Error('a getter threw');
  });
  receive({ error: refused });
  receive({});
  expect(node.error.mock.calls.map(([{ message }]) => message)).toEqual(['refused', 'a getter threw']);
});

test('reports an exception of a guarded call', () => {
  const report = jest.fn();
  const error = new Error('x');
  guard(() => {
    throw error;
  }, report);
  guard(() => {}, report);
  expect(report.mock.calls).toEqual([[error]]);
  expect(asError('text').message).toMatch(/string was thrown/);
});
