'use strict';

const { LinkCost } = require('../../../nodes/lib/uplink/sending/link-cost');
const { PublishWriter } = require('../../../native');
const { checkStage, compileStage } = require('../../../nodes/lib/uplink/sending/uplink-stage');

const TLS = { isTls: true, isV6: false };
const zeros = { packets: 0, records: 0, headBytes: 0, payloadBytes: 0, plainBytes: 0 };

/** Returns a cost and the numbers that it reads. */
function start() {
  const sent = { ...zeros };
  const cost = new LinkCost(() => ({ ...sent }));
  const send = (/** @type {Partial<typeof zeros>} */ more) => {
    for (const [name, value] of Object.entries(more)) sent[/** @type {keyof typeof zeros} */ (name)] += value;
  };
  return { cost, send };
}

test('begins with the numbers that the engine assumes', () => {
  expect(start().cost.update(TLS)).toEqual({ headBytes: 220, recordBytes: 60 });
});

test.each([
  [{ isTls: true, isV6: false }, 252],
  [{ isTls: true, isV6: true }, 292],
  [{ isTls: false, isV6: false }, 208]
])('measures the head of MQTT and adds that of %j', (link, expected) => {
  const { cost, send } = start();
  for (let i = 0; i < 60; i++) {
    send({ packets: 10, records: 200, headBytes: 1000, payloadBytes: 8000, plainBytes: 8000 });
    cost.update(link);
  }
  const { headBytes, recordBytes } = cost.update(link);
  expect(headBytes).toBe(expected);
  expect(recordBytes).toBe(40);
});

test('keeps what it knows while nothing is sent', () => {
  const { cost, send } = start();
  send({ packets: 1, records: 1, headBytes: 400, payloadBytes: 1000, plainBytes: 1000 });
  const known = cost.update(TLS);
  expect(known).toEqual({ headBytes: 303, recordBytes: 295 });
  expect(cost.update(TLS)).toEqual(known);
});

test('estimates what batches and compression save, and never less than before', () => {
  const { cost, send } = start();
  send({ packets: 1, records: 1, headBytes: 68, payloadBytes: 60, plainBytes: 60 });
  cost.update(TLS);
  expect(cost.savedBytes).toBe(0);
  send({ packets: 1, records: 11, headBytes: 68, payloadBytes: 660, plainBytes: 2660 });
  cost.update(TLS);
  expect(cost.savedBytes).toBe(10 * 220 + 2000);
  send({ packets: 3, records: 0, headBytes: 204, payloadBytes: 600, plainBytes: 600 });
  cost.update(TLS);
  expect(cost.savedBytes).toBe(4200);
});

test('reads what the writer has written', () => {
  const writer = new PublishWriter();
  writer.setStages([{ id: 1, ...compileStage(checkStage({ compress: 'zstd' }), 'pi-1', ['zstd']) }]);
  writer.setLink(true, true);
  expect(writer.sent()).toEqual(zeros);
  const lines = Buffer.from('{"d":"a","t":"b","ts":1,"s":1,"c":3,"p":{"v":1}}\n'.repeat(20));
  const meta = Float64Array.of(1, 3, 20, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0);
  const size = writer.prepare(1, lines, meta, 0, lines.length, -1);
  const plain = writer.sent();
  expect(plain).toMatchObject({ packets: 1, records: 20 });
  expect(plain.headBytes + plain.payloadBytes).toBe(size);
  expect(plain.plainBytes).toBeGreaterThanOrEqual(lines.length);
  expect(plain.payloadBytes).toBeLessThan(lines.length / 4);
  writer.prepare(1, lines, meta, 0, lines.length / 2, 0);
  expect(writer.sent()).toMatchObject({ packets: 2, records: 20 });
});
