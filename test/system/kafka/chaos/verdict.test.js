'use strict';

const { Verdict } = require('../../../../bench/harness/kafka/verdict');

const record = (/** @type {number} */ seq, /** @type {Record<string, string>} */ headers = {}) => ({
  value: Buffer.from(`{"device":"dev-1","seq":${seq},"k":0,"us":5}`),
  headers: { key: `k${seq}`, seq: '1', ...headers }
});

/** @param {ReturnType<typeof record>[]} records */
function verdictOf(...records) {
  const verdict = new Verdict();
  for (const each of records) verdict.add(each);
  return verdict;
}

test('accepts records in order, with second copies and historical ones behind', () => {
  const history = { history: '1' };
  const verdict = verdictOf(record(0), record(3), record(3), record(1, history), record(2, history));
  expect(verdict).toMatchObject({ distinct: 4, twice: 1, disorder: 0, historical: 2, otherKey: 0, bare: 0 });
  expect(verdict.lost({ sent: 4, acked: 4 })).toBe(0);
});

test('counts acknowledged records that are not there', () => {
  const verdict = verdictOf(record(0), record(2));
  expect(verdict.lost({ sent: 3, acked: 3 })).toBe(1);
  // The missing one was not acknowledged.
  expect(verdict.lost({ sent: 3, acked: 2 })).toBe(0);
});

test('names each acknowledged record that is not there', () => {
  const verdict = verdictOf(record(0), record(2));
  const stream = { device: 1, kind: 0, issued: 5, unacked: /** @type {[number, number][]} */ ([[3, 3]]) };
  verdict.arrived.set('dev-00001 0', new Set([0, 2]));
  expect(verdict.compare([stream])).toEqual({ acked: 4, lost: ['dev-00001 0 1', 'dev-00001 0 4'] });
});

test('sees a first copy that is out of order, a copy with another key, foreign records and those without seq', () => {
  const { value } = record(7);
  const verdict = verdictOf(
    record(1),
    record(0),
    record(1, { key: 'other' }),
    /** @type {any} */ ({ value, headers: { key: 'k7' } }),
    /** @type {any} */ ({ value: Buffer.from('x'), headers: {} })
  );
  expect(verdict).toMatchObject({ disorder: 1, otherKey: 1, foreign: 1, bare: 1, distinct: 3 });
});
