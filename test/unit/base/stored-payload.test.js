'use strict';

const { splitStored } = require('../../../nodes/lib/base/stored-payload');
const { seeded } = require('../../fixtures/random');

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
/** The bytes of native/test/record/stored_payload_test.cc. */
const STAMP = Buffer.from('7b606da59a010000ffffffff', 'hex');

test('separates the payload, the trace and the stamp', () => {
  const trace = Buffer.concat([Buffer.from(TRACE), Buffer.from([TRACE.length, 0])]);
  const stamp = { ts: 1763712000123, seq: 4294967295 };
  const payload = Buffer.from('p');
  expect(splitStored(payload, 0)).toEqual({ payload, trace: '', stamp: null });
  expect(splitStored(Buffer.concat([payload, STAMP]), 16)).toEqual({ payload, trace: '', stamp });
  expect(splitStored(Buffer.concat([payload, trace, STAMP]), 24)).toEqual({ payload, trace: TRACE, stamp });
  expect(splitStored(STAMP, 16)).toEqual({ payload: Buffer.alloc(0), trace: '', stamp });
});

test('leaves bytes that are too short in the payload, whatever they are', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  const { integer } = seeded(seed);
  for (let i = 0; i < 5000; i++) {
    const bytes = Buffer.from(Array.from({ length: integer(40) }, () => integer(256)));
    const { payload, stamp } = splitStored(bytes, integer(32));
    const length = payload.length + (stamp ? 12 : 0);
    expect([seed, length <= bytes.length]).toEqual([seed, true]);
    expect([seed, bytes.subarray(0, payload.length).equals(payload)]).toEqual([seed, true]);
  }
});
