'use strict';

const { Complaints } = require('../../../nodes/lib/base/complaints');

function make() {
  const made = { time: 0, logged: /** @type {string[]} */ ([]) };
  const complaints = new Complaints(
    (sentence) => made.logged.push(sentence),
    () => made.time
  );
  return Object.assign(made, { complaints });
}

test('reports a problem at once, then reports how often it recurred at growing intervals', () => {
  const made = make();
  const at = [];
  for (let second = 0; second < 86400; second++) {
    made.time = second * 1000;
    made.complaints.tell('a', 'It fails.');
    if (made.logged.length > at.length) at.push(second);
  }
  expect(at.slice(0, 8)).toEqual([0, 60, 180, 420, 900, 1860, 3780, 7380]);
  expect(at.length).toBeLessThan(35);
  expect(made.logged[0]).toBe('It fails.');
  expect(made.logged[1]).toBe('It fails. (And 59 more times since the last message about this.)');
});

test('reports a problem at once again after it had stopped', () => {
  const made = make();
  for (const second of [0, 60, 61, 400, 430]) {
    made.time = second * 1000;
    made.complaints.tell('a', `At ${second}.`);
  }
  expect(made.logged).toEqual([
    'At 0.',
    'At 60.',
    'At 400. (And 1 more times since the last message about this.)'
  ]);
});

test('keeps kinds apart, counts simultaneous reports, and remembers a bounded number of kinds', () => {
  const made = make();
  made.complaints.tell('a', 'A.', 3);
  made.complaints.tell('b', 'B.');
  expect(made.logged).toEqual(['A. (3 times.)', 'B.']);
  for (let i = 0; i < 100; i++) made.complaints.tell(`kind ${i}`, 'C.');
  made.complaints.tell('a', 'A again.');
  expect(made.logged.at(-1)).toBe('A again.');
});
