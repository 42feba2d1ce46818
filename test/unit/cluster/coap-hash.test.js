'use strict';
// How docker/cluster/coap-hash.js divides CoAP devices among gateways.

const { Health, Ring, SLOTS, readSettings, rules } = require('../../../docker/cluster/coap-hash');

const gateways = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}`);

test.each([2, 3, 5, 8, 16, 32])(
  'when one of %i gateways leaves, at most 1.1 of its even share moves, and when it returns all is as before',
  (count) => {
    const all = gateways(count);
    const ring = new Ring(all);
    const before = ring.assign(new Set(all));
    for (const gone of all) {
      const rest = new Set(all.filter((each) => each !== gone));
      const after = ring.assign(rest);
      const moved = before.filter((owner, slot) => owner !== after[slot]);
      expect(moved.every((owner) => owner === gone)).toBe(true);
      expect(moved.length / SLOTS).toBeLessThanOrEqual(1.1 / count);
      expect(after.every((owner) => rest.has(owner))).toBe(true);
    }
    expect(ring.assign(new Set(all))).toEqual(before);
  }
);

test('with no ready gateway, devices keep theirs', () => {
  const ring = new Ring(gateways(3));
  expect(ring.assign(new Set())).toEqual(ring.assign(new Set(gateways(3))));
});

test('a gateway leaves after two failed checks and returns after four good ones', () => {
  const health = new Health();
  const seen = [false, true, false, false, true, true, true, false, true, true, true, true].map((ok) => {
    health.add(ok);
    return health.isReady;
  });
  expect(seen.map(Number).join('')).toBe('111000000001');
});

test('the rules are of the family of the addresses', () => {
  const settings = readSettings({ ADDRESS: 'fd00::1', GATEWAYS: 'fd00::21, fd00::22', PORTS: '5683' });
  expect(rules(settings, ['fd00::21', 'fd00::22'])).toMatch(
    /ip6 daddr fd00::1 udp dport \{ 5683 \} notrack ip6 daddr set jhash ip6 saddr mod 1024 seed 0x\w+ map \{ 0 : fd00::21, 1 : fd00::22 \}/
  );
});

test.each([
  [{}, /^ADDRESS must be/],
  [{ ADDRESS: '10.0.0.10; flush ruleset', GATEWAYS: '10.0.0.21' }, /^ADDRESS must be/],
  [{ ADDRESS: '10.0.0.10' }, /^GATEWAYS must be 1 to 32 different addresses/],
  [{ ADDRESS: '10.0.0.10', GATEWAYS: '10.0.0.21,fd00::22' }, /^GATEWAYS must/],
  [{ ADDRESS: '10.0.0.10', GATEWAYS: '10.0.0.21,10.0.0.21' }, /^GATEWAYS must/],
  [{ ADDRESS: '10.0.0.10', GATEWAYS: '10.0.0.10' }, /^GATEWAYS must/],
  [{ ADDRESS: '10.0.0.10', GATEWAYS: gateways(33).join() }, /^GATEWAYS must/],
  [{ ADDRESS: '10.0.0.10', GATEWAYS: '10.0.0.21', PORTS: '5683,65536' }, /^PORTS must/],
  [
    { ADDRESS: '10.0.0.10', GATEWAYS: '10.0.0.21', READY: 'http://10.0.0.21/' },
    /^READY must be a URL with \{gateway\}/
  ]
])('refuses the settings %j with a sentence', (env, sentence) => {
  expect(() => readSettings(env)).toThrow(sentence);
});
