'use strict';
// Pages of a node's own list: read in the background, with pauses, and forgotten when no viewer wants them.

const { ListPages } = require('../../../nodes/lib/live/list-pages');

const query = (q = '') => ({ node: 'n', show: /** @type {const} */ ('devices'), q, page: 1, size: 25 });
const turn = () => new Promise((resolve) => setImmediate(resolve));

function setUp() {
  const clock = { now: 0, tookMs: 0, reads: 0 };
  /** @type {Error | null} */
  let failure = null;
  const list = async () => {
    clock.reads++;
    clock.now += clock.tookMs;
    if (failure) throw failure;
    return { rows: [clock.reads] };
  };
  const pages = new ListPages(() => clock.now);
  return { clock, list, pages, fail: (/** @type {Error | null} */ error) => (failure = error) };
}

test('returns nothing before the first reading, and then the newest page with its age', async () => {
  const { clock, list, pages } = setUp();
  expect(pages.page(list, query())).toBeNull();
  await turn();
  clock.now += 500;
  expect(pages.page(list, query())).toEqual({ rows: [1], ageMs: 500, error: '' });
  clock.now += 500;
  expect(pages.page(list, query())).toMatchObject({ rows: [1] });
  await turn();
  expect(pages.page(list, query())).toMatchObject({ rows: [2] });
});

test('waits for 50 times as long as a reading took', async () => {
  const { clock, list, pages } = setUp();
  clock.tookMs = 100;
  pages.page(list, query());
  await turn();
  for (let n = 0; n < 4; n++) {
    clock.now += 1200;
    pages.page(list, query());
    await turn();
  }
  expect(clock.reads).toBe(1);
  clock.now += 1200;
  pages.page(list, query());
  await turn();
  expect(clock.reads).toBe(2);
});

test('starts no second reading while one is under way', async () => {
  const { clock, pages } = setUp();
  let reads = 0;
  const slow = () => new Promise(() => reads++);
  for (let n = 0; n < 5; n++) {
    pages.page(/** @type {any} */ (slow), query());
    clock.now += 2000;
  }
  expect(reads).toBe(1);
});

test('keeps the previous page with the reason when a reading fails', async () => {
  const { clock, list, pages, fail } = setUp();
  pages.page(list, query());
  await turn();
  fail(new Error('The database is not available.'));
  clock.now += 1000;
  pages.page(list, query());
  await turn();
  const error = 'The database is not available.';
  expect(pages.page(list, query())).toMatchObject({ rows: [1], error });
  expect(pages.page(list, query('other'))).toBeNull();
  await turn();
  expect(pages.page(list, query('other'))).toEqual({ error });
});

test('forgets pages that no viewer wants any more', async () => {
  const { clock, list, pages } = setUp();
  for (let n = 0; n < 20; n++) pages.page(list, query(`${n}`));
  await turn();
  expect(pages.size).toBe(20);
  clock.now += 6000;
  pages.page(list, query('last'));
  expect(pages.size).toBe(1);
});
