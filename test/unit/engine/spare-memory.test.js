'use strict';

const { SpareMemory } = require('../../../nodes/lib/engine/spare-memory');

const MIB = 2 ** 20;

/** @param {SpareMemory} spare @param {number} seconds @param {number} heldBytes @param {number} [backlog] records */
function pass(spare, seconds, heldBytes, backlog = 0) {
  for (let i = 0; i < seconds; i++) spare.tick({ heldBytes, backlogRecords: [0, 0, 0, backlog] });
}

test('releases memory once after the start', () => {
  const release = jest.fn();
  const spare = new SpareMemory(release, () => {});
  pass(spare, 9, 0);
  expect(release).not.toHaveBeenCalled();
  pass(spare, 100, 0);
  expect(release).toHaveBeenCalledTimes(1);
});

test('releases memory after an outage, when the backlog has been sent', () => {
  const release = jest.fn();
  const spare = new SpareMemory(release, () => {});
  pass(spare, 10, 0);
  pass(spare, 60, 30 * MIB, 1000);
  pass(spare, 20, MIB, 10);
  pass(spare, 9, MIB);
  expect(release).toHaveBeenCalledTimes(1);
  pass(spare, 30, MIB);
  expect(release).toHaveBeenCalledTimes(2);
  expect(release).toHaveBeenLastCalledWith(false); // as after a burst
});

test('releases memory after a long backlog that was never in memory as a whole', () => {
  const release = jest.fn();
  const spare = new SpareMemory(release, () => {});
  pass(spare, 10, 0);
  pass(spare, 600, MIB, 9000);
  pass(spare, 30, MIB);
  expect(release).toHaveBeenCalledTimes(1);
  expect(release).toHaveBeenLastCalledWith(false);
  pass(spare, 299, MIB, 100000);
  expect(release).toHaveBeenCalledTimes(1);
  pass(spare, 301, MIB, 100000); // every five minutes, without a collection of garbage
  expect(release).toHaveBeenCalledTimes(3);
  expect(release).toHaveBeenLastCalledWith(false);
  pass(spare, 30, MIB);
  expect(release).toHaveBeenCalledTimes(4);
  expect(release).toHaveBeenLastCalledWith(true);
});

test('does not release memory under a steady or a small load', () => {
  const release = jest.fn();
  const spare = new SpareMemory(release, () => {});
  pass(spare, 10, 0);
  pass(spare, 100, 30 * MIB);
  pass(spare, 5, 0);
  pass(spare, 100, 30 * MIB);
  expect(release).toHaveBeenCalledTimes(1);
  const small = new SpareMemory(release, () => {});
  pass(small, 10, 0);
  for (let i = 0; i < 50; i++) {
    pass(small, 5, 3 * MIB);
    pass(small, 20, 0);
  }
  expect(release).toHaveBeenCalledTimes(2);
});

test('releases the program after the heaps were compacted, that is after the start and after an outage', () => {
  /** @type {string[]} */
  const done = [];
  const spare = new SpareMemory(
    () => done.push('memory'),
    () => done.push('program')
  );
  pass(spare, 12, 0);
  expect(done).toEqual(['memory']);
  expect(spare.isWaiting).toBe(true);
  pass(spare, 100, 0);
  expect(done).toEqual(['memory', 'program']);
  expect(spare.isWaiting).toBe(false);
  pass(spare, 60, 30 * MIB, 1000); // a burst
  pass(spare, 100, 0);
  expect(done.splice(0)).toEqual(['memory', 'program', 'memory']);
  pass(spare, 60, 30 * MIB, 20000); // an outage
  pass(spare, 10, 0);
  expect(done).toEqual(['memory']);
  pass(spare, 12, 0);
  expect(done).toEqual(['memory']);
  pass(spare, 100, 0);
  expect(done).toEqual(['memory', 'program']);
});

test('does not release the program during an outage', () => {
  const releaseProgram = jest.fn();
  const spare = new SpareMemory(() => {}, releaseProgram);
  pass(spare, 5, 0);
  pass(spare, 600, 30 * MIB, 20000);
  expect(releaseProgram).not.toHaveBeenCalled();
});
