'use strict';
// Idempotency-Keys of an http devices node: what is kept, for how long, and what is refused instead of being forgotten.

const {
  IdempotencyKeys,
  KEEP_MS,
  LIMITS,
  SUBMISSION_BYTES
} = require('../../../../nodes/lib/sources/http/idempotency-keys');
const { CODES } = require('../../../../nodes/lib/engine/inbox');
const { openDoor } = require('../../../fixtures/devices/http-bench');

const BODY = Buffer.from('1');
const NO_ROOM = expect.objectContaining({ status: 503, headers: { 'Retry-After': '10' } });
let now = 0;
beforeEach(() => {
  now = 0;
});

/** @param {IdempotencyKeys} keys */
const asked =
  (keys) =>
  (key, sender = '', total = 1) =>
    keys.submission(key, sender, '/r/a', BODY, total);

/** Puts all records of a submission into an engine. @returns what makes them safe, after which the request ends */
function put(submission) {
  const waiting = [];
  submission.run(
    Array.from({ length: submission.total }, () => ({})),
    (_args, done) => waiting.push(done),
    () => true
  );
  return (error) => {
    waiting.splice(0).forEach((done) => done(error));
    submission.leave();
  };
}

const refusal = (work) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
};

test('a sender with very many keys is refused, and the keys of others stay', () => {
  const keys = new IdempotencyKeys(() => now);
  const submission = asked(keys);
  const pending = submission('k', 'quiet');
  const makeSafe = put(pending);
  put(submission('safe', 'quiet'))();
  let taken = 0;
  for (; !refusal(() => put(submission(`k${taken}`, 'noisy'))()); taken++);
  expect(taken).toBe(LIMITS.keys / 10);
  expect(refusal(() => submission('more', 'noisy'))).toEqual(NO_ROOM);
  expect(submission('k0', 'noisy').isDone).toBe(true);
  expect(submission('k', 'quiet')).toBe(pending);
  expect(submission('safe', 'quiet')).toMatchObject({ isDone: true, safe: 1, open: [] });
  expect(submission('other', 'quiet').isDone).toBe(false);
  makeSafe();
  expect(submission('k', 'quiet').isDone).toBe(true);
  now = KEEP_MS;
  expect(submission('more', 'noisy').isDone).toBe(false);
});

test('a pending key is kept beyond ten minutes, and its copy stores nothing', async () => {
  const { post, engine, server } = await openDoor({ safeTimeoutS: 1 }, { now: () => now });
  engine.isSafeAtOnce = false;
  const key = { 'Idempotency-Key': 'k' };
  expect(await post('/r/a', '1', key)).toMatchObject({ status: 503, body: { pending: 1 } });
  now = KEEP_MS + 1;
  expect((await post('/r/a', '1', key)).status).toBe(503);
  engine.waiting[0]();
  expect(await post('/r/a', '1', key)).toMatchObject({ status: 200, body: { accepted: 1 } });
  expect(engine.taken).toHaveLength(1);
  await server.close(0);
});

describe('without room', () => {
  test('a new key is refused, a known one is not, and a request without a key is not', () => {
    const keys = new IdempotencyKeys(() => now, { keys: 3, openBytes: 10000 });
    const submission = asked(keys);
    const known = [0, 1, 2].map((i) => submission(`k${i}`));
    expect(refusal(() => submission('k3'))).toEqual(NO_ROOM);
    expect([0, 1, 2].map((i) => submission(`k${i}`))).toEqual(known);
    expect(keys.submission(undefined, '', '/r/a', BODY, 1).total).toBe(1);
    expect(keys.size).toBe(3);
  });

  test('names the limit of all senders if the share of the sender is not used up', () => {
    const keys = new IdempotencyKeys(() => now, { keys: 10, openBytes: 1e6 });
    const submission = asked(keys);
    for (let i = 0; i < 10; i++) submission('k', `sender-${i}`);
    expect(refusal(() => submission('k2', 'sender-0')).message).toMatch(/^The sender has used too many/);
    expect(refusal(() => submission('k', 'sender-10')).message).toMatch(/^The gateway has no room/);
  });

  /** Room for one submission of each sender. */
  const narrow = () =>
    new IdempotencyKeys(() => now, { keys: 1000, openBytes: 10 * (SUBMISSION_BYTES + 10) });

  test('only submissions that are partly safe, or in use, take the room for these, until their key expires', () => {
    const keys = narrow();
    const submission = asked(keys);
    for (let i = 0; i < 20; i++) put(submission(`safe-${i}`, 'a', 10))();
    const first = submission('partly', 'a', 10);
    expect(refusal(() => submission('more', 'a', 1))).toEqual(NO_ROOM);
    const rest = [];
    first.run(
      Array.from({ length: 10 }, () => ({})),
      (_args, done) => (rest.length === 0 ? rest.push(done) : done(new Error('The engine is full.'))),
      () => true
    );
    rest[0]();
    first.leave();
    expect(first).toMatchObject({ safe: 1, pending: 0 });
    expect(refusal(() => submission('more', 'a', 1))).toEqual(NO_ROOM);
    const repeated = submission('partly', 'a', 10);
    expect(repeated).toBe(first);
    put(repeated)();
    expect(submission('more', 'a', 10).open).toHaveLength(10);
    now = KEEP_MS;
    expect(submission('later', 'a', 10).open).toHaveLength(10);
    expect(keys.size).toBe(1);
  });

  test('forgets a submission without a safe record when its last request has ended', () => {
    const keys = narrow();
    const submission = asked(keys);
    const failed = submission('k', 'a', 10);
    const makeSafe = put(failed);
    // A copy arrives meanwhile, and is refused.
    const copy = submission('k', 'a', 10);
    expect(copy).toBe(failed);
    copy.leave();
    expect(keys.size).toBe(1);
    makeSafe(new Error('The engine is full.'));
    expect(keys.size).toBe(0);
    const again = submission('k', 'a', 10);
    expect(again).not.toBe(failed);
    expect(again.open).toHaveLength(10);
  });

  test('a submission whose records fail after its request has ended is forgotten', () => {
    const keys = narrow();
    const submission = asked(keys);
    const late = submission('k', 'a');
    const waiting = [];
    late.run([{}], (_args, done) => waiting.push(done), () => true); // prettier-ignore
    late.leave();
    expect(keys.size).toBe(1);
    waiting[0](new Error('The engine is full.'));
    expect(keys.size).toBe(0);
  });

  test('a record that fails at once does not end the submission while the others are put', () => {
    const keys = narrow();
    const submission = asked(keys);
    const first = submission('k', 'a', 2);
    let calls = 0;
    first.run([{}, {}], (_args, done) => done(calls++ === 0 ? new Error('full') : undefined), () => true); // prettier-ignore
    first.leave();
    expect(submission('k', 'a', 2).open).toEqual([0]);
  });
});

test('requests that are refused by the rate, or by the engine, leave no key behind', async () => {
  const { requests, engine, server, post } = await openDoor({ rate: 1, burst: 1 }, { now: () => now });
  const keyed = async (/** @type {string} */ key) =>
    (await post('/r/a', '1', { 'Idempotency-Key': key })).status;
  expect(await keyed('safe')).toBe(200);
  expect(await keyed('fast')).toBe(429);
  now = 1000;
  engine.put = (_args, done) => done(Object.assign(new Error('No room.'), { code: CODES.PART_FULL }));
  expect(await keyed('refused')).toBe(429);
  expect(requests.keys.size).toBe(1);
  await server.close(0);
});
