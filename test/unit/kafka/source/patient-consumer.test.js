'use strict';

const { makePatient, retryDelay } = require('../../../../nodes/lib/kafka/source/patient-consumer');

const LIMIT_MS = 3000;
const protocol = (/** @type {string} */ apiId) => Object.assign(new Error(apiId), { apiId });
const network = () => Object.assign(new Error('Connection closed'), { code: 'PLT_KFK_NETWORK' });

/** A consumer whose requests fail as the test wants. */
class Consumer {
  closed = false;
  cleared = 0;
  /** @type {Error | null} */
  error = null;

  /** @param {object} _ @param {(error: Error | null, result?: any) => void} done */
  #answer(_, done) {
    done(this.error, this.error ? undefined : { responses: ['records'] });
  }

  fetch = this.#answer;
  listOffsets = this.#answer;
  listCommittedOffsets = this.#answer;

  clearMetadata() {
    this.cleared++;
  }
}

/** @type {Consumer} */
let consumer;
beforeEach(() => {
  jest.useFakeTimers();
  consumer = new Consumer();
  makePatient(consumer, LIMIT_MS);
});
afterEach(() => jest.useRealTimers());

test.each([network(), protocol('FENCED_LEADER_EPOCH'), protocol('INVALID_FETCH_SESSION_EPOCH')])(
  'a fetch reads nothing while its partitions move (%s)',
  (error) => {
    const done = jest.fn();
    consumer.error = error;
    consumer.fetch({}, done);
    expect(done).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1000);
    expect(done.mock.calls).toEqual([[null, { responses: [] }]]);
    expect(consumer.cleared).toBe(1);
  }
);

test('a fetch fails when none has succeeded for the whole limit', () => {
  const done = jest.fn();
  consumer.error = network();
  jest.advanceTimersByTime(LIMIT_MS + 1);
  consumer.fetch({}, done);
  expect(done.mock.calls).toEqual([[consumer.error, undefined]]);
});

test('an error that no other leader can heal ends a fetch at once', () => {
  const done = jest.fn();
  consumer.error = protocol('TOPIC_AUTHORIZATION_FAILED');
  consumer.fetch({}, done);
  expect(done).toHaveBeenCalledWith(consumer.error, undefined);
});

test.each(/** @type {const} */ (['listOffsets', 'listCommittedOffsets']))(
  '%s is repeated for the limit',
  (name) => {
    const done = jest.fn();
    consumer.error = network();
    consumer[name]({}, done);
    jest.advanceTimersByTime(1000);
    expect(done).not.toHaveBeenCalled();
    consumer.error = null;
    jest.advanceTimersByTime(1000);
    expect(done).toHaveBeenCalledWith(null, { responses: ['records'] });

    const late = jest.fn();
    consumer.error = network();
    consumer[name]({}, late);
    jest.advanceTimersByTime(2 * LIMIT_MS);
    expect(late.mock.calls).toEqual([[consumer.error, undefined]]);
  }
);

test('the client repeats a fetch soon, and at once if a broker has answered it; anything else later', () => {
  const delay = (/** @type {string} */ operation, /** @type {Error} */ error) =>
    retryDelay({}, operation, 1, 3, error);
  expect(delay('fetch', protocol('FENCED_LEADER_EPOCH'))).toBe(0);
  expect(delay('fetch', network())).toBe(50);
  expect(delay('joinGroup', protocol('NOT_COORDINATOR'))).toBe(300);
});
