'use strict';

const { OpenBatches } = require('../../../nodes/lib/unbatch/open-batches');

const keyOf = (sequence, part = null) => ({ key: '', gateway: 'g', epoch: 'e', lane: 3, sequence, part });

function batches() {
  const forgotten = [];
  const open = new OpenBatches(({ sequence, part }) => forgotten.push([sequence, part]));
  const copies = [];
  const repeat = (sequence, part) =>
    open.repeat(keyOf(sequence, part), (error) => copies.push(error?.message));
  return { open, repeat, copies, forgotten };
}

test('completes a copy at once when the first one is over', () => {
  const { open, repeat, copies, forgotten } = batches();
  open.open(keyOf(1))(true);
  repeat(1);
  expect(copies).toEqual([undefined]);
  expect(forgotten).toEqual([]);
});

test('a copy that arrives meanwhile has the end of the first one', () => {
  const { open, repeat, copies, forgotten } = batches();
  const [one, two] = [open.open(keyOf(1)), open.open(keyOf(2))];
  repeat(1);
  repeat(2);
  repeat(2);
  expect(copies).toEqual([]);
  one(true);
  expect(copies).toEqual([undefined]);
  two(false);
  expect(copies).toHaveLength(3);
  expect(copies[1]).toMatch(/not delivered/);
  expect(forgotten).toEqual([[2, null]]);
});

test('a copy of a whole batch waits for all of its parts, and fails with one of them', () => {
  const { open, repeat, copies, forgotten } = batches();
  const [left, right] = [open.open(keyOf(1, 2)), open.open(keyOf(1, 3))];
  repeat(1);
  left(false);
  expect(copies).toEqual([]);
  right(true);
  expect(copies).toEqual([expect.stringMatching(/not delivered/)]);
  expect(forgotten).toEqual([[1, 2]]);
});

test('forgets at the end of the flow what is still in it', () => {
  const { open, forgotten } = batches();
  open.open(keyOf(1))(true);
  open.open(keyOf(2));
  open.abandon();
  expect(forgotten).toEqual([[2, null]]);
});
