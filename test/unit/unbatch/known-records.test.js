'use strict';

const { KeyWindow } = require('../../../nodes/lib/unbatch/key-window');
const { KnownRecords } = require('../../../nodes/lib/unbatch/known-records');
const { parseKey } = require('../../../nodes/lib/unbatch/record-key');

/** @param {number} seq @param {number} [ts] */
const record = (seq, ts = 5) => /** @type {any} */ ({ deviceId: 'm-7', priority: 3, ts, seq });
const BATCH = /** @type {import('../../../nodes/lib/unbatch/record-key').Key} */ (parseKey('pi-1/x/3/7'));

function start() {
  /** @type {((error?: Error) => void)[]} */
  const waiting = [];
  const known = new KnownRecords(new KeyWindow(100, 100), (_batch, done) => waiting.push(done));
  return { known, waiting, fresh: (/** @type {any[]} */ ...records) => known.take(records).fresh };
}

test('records whose flow failed pass again', () => {
  const { known, fresh } = start();
  const { keys } = known.take([record(1), record(2)]);
  known.open(keys, BATCH)(false);
  expect(fresh(record(1), record(2), record(2))).toEqual([record(1), record(2)]);
});

test('a copy of a record that is in the flow has the end of its batch', () => {
  const { known, waiting, fresh } = start();
  const end = known.open(known.take([record(1)]).keys, BATCH);
  const copy = known.take([record(1), record(2)]);
  expect([copy.fresh, [...copy.batches]]).toEqual([[record(2)], [BATCH]]);
  const done = jest.fn();
  known.await(copy.batches, done);
  expect(done).not.toHaveBeenCalled();
  const error = new Error('not delivered');
  waiting[0](error);
  expect(done.mock.calls).toEqual([[error]]);
  end(true);
  const late = known.take([record(1)]);
  known.await(late.batches, done);
  expect([late.fresh, done.mock.calls[1]]).toEqual([[], []]);
  expect(fresh(record(1))).toEqual([]);
});

test.each([-1, 1.5, 2 ** 53])('a record with the time %d, which no gateway gives, always passes', (ts) => {
  const { fresh } = start();
  expect(fresh(record(1, ts), record(1, ts))).toHaveLength(2);
});
