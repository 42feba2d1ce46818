'use strict';
// Commands of a tenant as its session hands them over, and how they are acknowledged.

const { TenantCommands } = require('../../../nodes/lib/tenants/uplink/tenant-commands');

class Lab {
  /** @type {any[]} */
  got = [];
  /** PUBACKs in hexadecimal. @type {string[]} */
  written = [];
  /** Packets that were read. */
  read = 0;
  commands = new TenantCommands({
    user: 'front',
    handOver: (command, ack) => this.got.push({ ...command, ack }),
    write: (bytes) => this.written.push(bytes.toString('hex'))
  });

  /** @param {object} packet */
  receive(packet) {
    const common = { topic: 'cmd/front/pump-1/valve', payload: Buffer.from('x'), qos: 1, retain: false };
    this.commands.onPublish(/** @type {any} */ ({ cmd: 'publish', ...common, ...packet }), () => this.read++);
  }
}

test.each([
  ['taken', '40021234'],
  ['queued', '40021234'],
  ['full', '4003123497'],
  ['refused', '4003123483'],
  ['expired', '4003123483'],
  ['timeout', '4003123483']
])('acknowledges a command that is %s with the packet %s', (status, packet) => {
  const lab = new Lab();
  lab.receive({ messageId: 0x1234 });
  expect(lab.written).toEqual([]);
  lab.commands.answer(lab.got[0].ack, /** @type {any} */ (status));
  expect(lab.written).toEqual([packet]);
  lab.commands.answer(lab.got[0].ack, 'taken');
  expect(lab.written).toHaveLength(1);
});

test.each([
  ['names no device', { topic: 'cmd/front//valve' }],
  ['is retained', { retain: true }]
])('refuses a message that %s, without handing it over', (_name, packet) => {
  const lab = new Lab();
  lab.receive({ messageId: 7, ...packet });
  lab.receive({ qos: 0, ...packet });
  expect(lab.got).toEqual([]);
  expect(lab.written).toEqual(['4003000783']);
  expect(lab.read).toBe(2);
});

test('hands over a command once that comes twice, and acknowledges it once', () => {
  const lab = new Lab();
  lab.receive({ messageId: 7 });
  lab.receive({ messageId: 7, dup: true });
  expect(lab.got).toHaveLength(1);
  lab.commands.answer(lab.got[0].ack, 'taken');
  expect(lab.written).toEqual(['40020007']);
});

test('takes no answer to a command of an earlier session for one of its own', () => {
  const before = new Lab();
  before.receive({ messageId: 1 });
  const after = new Lab();
  after.receive({ messageId: 2 });
  after.commands.answer(before.got[0].ack, 'taken');
  expect(after.written).toEqual([]);
  after.commands.answer(after.got[0].ack, 'taken');
  expect(after.written).toEqual(['40020002']);
});

test.each([
  [undefined, undefined],
  [0, 0],
  [60, 60],
  [0xffffffff, 7 * 86400]
])('lets a command wait that asks for %p s for %p s', (messageExpiryInterval, expiryS) => {
  const lab = new Lab();
  lab.receive({ messageId: 7, properties: { messageExpiryInterval } });
  expect(lab.got[0].expiryS).toBe(expiryS);
});

test.each([0, 1])('reads no more than 32 commands of QoS %i before they are answered', (qos) => {
  const lab = new Lab();
  for (let messageId = 1; messageId <= 32; messageId++) lab.receive({ qos, messageId });
  expect([lab.got.length, lab.read]).toEqual([32, 31]);
  expect(new Set(lab.got.map(({ ack }) => ack)).size).toBe(32);
  lab.commands.answer(lab.got[5].ack, 'taken');
  expect(lab.read).toBe(32);
  expect(lab.written).toEqual(qos === 0 ? [] : ['40020006']);
  for (const { ack } of lab.got) lab.commands.answer(ack, 'taken');
  expect([lab.commands.open.size, lab.commands.openBytes, lab.read]).toEqual([0, 0, 32]);
});

test('reads no more than a mebibyte of commands before they are answered', () => {
  const lab = new Lab();
  for (let i = 0; i < 4; i++) lab.receive({ qos: 0, payload: Buffer.alloc(300000) });
  expect(lab.read).toBe(3);
  lab.commands.answer(lab.got[0].ack, 'taken');
  expect(lab.read).toBe(4);
});
