'use strict';
// A probe that is sent twice. The clock is the test's.

const { doubleProbe } = require('../../../nodes/lib/network/paths/double-probe');

beforeEach(() => jest.useFakeTimers({ now: 0 }));
afterEach(() => jest.useRealTimers());

/** @param {{ after: number, ok: boolean | null }[]} answers to the first and the second */
async function run(...answers) {
  /** @type {number[]} */
  const askedAt = [];
  const asked = doubleProbe(
    () =>
      new Promise((resolve) => {
        const { after, ok } = answers[askedAt.length];
        askedAt.push(Date.now());
        setTimeout(() => resolve({ ok, why: `answer ${askedAt.indexOf(Date.now() - after) + 1}` }), after);
      })
  ).then((answer) => ({ ...answer, at: Date.now() }));
  await jest.advanceTimersByTimeAsync(5000);
  return { ...(await asked), askedAt };
}
const yes = (/** @type {number} */ after) => ({ after, ok: true });
const no = (/** @type {number} */ after) => ({ after, ok: false });

test.each([
  ['one answer is enough', [yes(20)], { ok: true, at: 20, askedAt: [0] }],
  ['takes no reachable target as an answer', [{ after: 0, ok: null }], { ok: null, at: 0, askedAt: [0] }],
  [
    'accepts the second probe in place of the first',
    [no(150), yes(20)],
    { ok: true, at: 80, askedAt: [0, 60] }
  ],
  ['accepts a late answer to the first', [yes(140), no(150)], { ok: true, at: 140, askedAt: [0, 60] }],
  [
    'fails without an answer to either',
    [no(150), no(150)],
    { ok: false, at: 210, why: 'answer 2', askedAt: [0, 60] }
  ],
  ['retries an immediate error later', [no(0), yes(20)], { ok: true, at: 80, askedAt: [0, 60] }],
  ['both at once', [no(1), no(1)], { ok: false, at: 61, askedAt: [0, 60] }]
])('%s', async (_, answers, end) => expect(await run(...answers)).toMatchObject(end));
