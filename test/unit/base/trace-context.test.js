'use strict';

const { splitTrace, traceFields, traceOf } = require('../../../nodes/lib/base/trace-context');
const { seeded } = require('../../fixtures/random');

// The example of W3C Trace Context, 3.2.3.
const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const STATE = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';

test('takes a traceparent as the specification writes it', () => {
  expect(traceOf(PARENT)).toBe(PARENT);
  expect(traceOf(PARENT, STATE)).toBe(PARENT + STATE);
});

test.each([
  ['nothing', undefined],
  ['a number', 1],
  ['an empty string', ''],
  ['a shorter one', PARENT.slice(1)],
  ['a longer one', `${PARENT}-`],
  ['upper case', PARENT.toUpperCase()],
  ['the version ff', `ff${PARENT.slice(2)}`],
  ['a trace id of zeros', '00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
  ['a parent id of zeros', '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01'],
  ['a line end', `${PARENT.slice(0, -1)}\n`]
])('ignores %s as a traceparent', (_what, value) => {
  expect(traceOf(value, STATE)).toBe('');
});

test.each([[1], ['a="b"'], ['a=\\'], ['a=\n'], ['a=é'], ['a'.repeat(513)]])(
  'leaves out the tracestate %j',
  (state) => expect(traceOf(PARENT, state)).toBe(PARENT)
);

test('makes the properties of a message', () => {
  expect(traceFields('')).toEqual({});
  expect(traceFields(PARENT)).toEqual({ traceparent: PARENT });
  expect(traceFields(PARENT + STATE)).toEqual({ traceparent: PARENT, tracestate: STATE });
});

test('finds the trace behind a stored payload, and leaves other bytes alone', () => {
  const trace = PARENT + STATE;
  const length = Buffer.from([trace.length & 255, trace.length >> 8]);
  const stored = Buffer.concat([Buffer.from('payload'), Buffer.from(trace), length]);
  expect(splitTrace(stored, 9)).toEqual({ payload: Buffer.from('payload'), trace });
  expect(splitTrace(stored, 1)).toEqual({ payload: stored, trace: '' });
  const random = seeded(1);
  for (let i = 0; i < 2000; i++) {
    const bytes = random.bytes(random.integer(90));
    if (bytes.length >= 2 && i % 2 === 0) bytes.writeUInt16LE(random.integer(90), bytes.length - 2);
    expect(splitTrace(bytes, 8)).toEqual({ payload: bytes, trace: '' });
  }
});
