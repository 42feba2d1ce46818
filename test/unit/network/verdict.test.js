'use strict';
// Output of tc, and the verdict on an interface. The outputs are real, except those that are marked.

const { fingerprint, verdictOf } = require('../../../nodes/lib/network/qdisc/verdict');
const {
  parseClasses,
  parseDefaultRoute,
  parseFilters,
  parseLink,
  parseQdiscs
} = require('../../../nodes/lib/network/qdisc/tc-output');

const BANDS3 = '"options":{"bands":3,"priomap":[1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}';
const COUNTS = '"bytes":900,"packets":9,"drops":2,"overlimits":1,"requeues":0,"backlog":100,"qlen":1';
const HTB = `{"kind":"htb","handle":"1:","root":true,"refcnt":3,"options":{"r2q":10,"default":"0x20","direct_packets_stat":1,"direct_qlen":1000},${COUNTS}}`;
const CLSACT = '{"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","options":{},"bytes":0,"packets":0}';
const LINK =
  '[{"ifindex":4,"ifname":"eth0","mtu":1400,"qdisc":"htb","txqlen":1000,"link_type":"ether","num_tx_queues":1,"gso_max_segs":1,"linkinfo":{"info_kind":"veth"}}]';

/** @param {string} id @param {string} more @param {number} packets */
const htbClass = (id, more, packets = 0) => `class htb ${id} ${more} burst 1600b cburst 1600b 
 Sent ${packets * 100} bytes ${packets} pkt (dropped 3, overlimits 0 requeues 0) 
 backlog 4Kb 2p requeues 0
 lended: 0 borrowed: 0 giants: 0
 tokens: 125000 ctokens: 100000

`;
const CLASSES = [
  htbClass('1:10', 'parent 1:1 leaf 10: prio 0 rate 1600Kbit ceil 2Mbit', 7),
  htbClass('1:1', 'root rate 2Mbit ceil 2Mbit', 8),
  htbClass('1:20', 'parent 1:1 prio 1 rate 200Kbit ceil 2Mbit', 1)
].join('');
const FILTERS = `filter parent 1: protocol ip pref 10 u32 chain 0 
filter parent 1: protocol ip pref 10 u32 chain 0 fh 800: ht divisor 1 
filter parent 1: protocol ip pref 10 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw 
  match 00b80000/00fc0000 at 0
filter parent 1: protocol all pref 30 bpf chain 0 
filter parent 1: protocol all pref 30 bpf chain 0 handle 0x1 classifier.o:[classifier] not_in_hw id 132 name classifier tag 209e0524ccbd75a8 jited 
`;
const EF_ONLY = FILTERS.split('filter parent 1: protocol all')[0];

/** @param {{ qdiscs: string[], classes?: string, filters?: string, link?: string }} shown @returns {any} */
const facts = ({ qdiscs, classes = '', filters = '', link = LINK }) => ({
  link: parseLink(link),
  qdiscs: parseQdiscs(`[${qdiscs.join(',')}]`),
  classes: parseClasses(classes),
  filters: parseFilters(filters)
});

describe('output of tc', () => {
  test('lists qdiscs, without those of incoming packets', () => {
    expect(parseQdiscs(`[${HTB},${CLSACT}]`)).toEqual([
      expect.objectContaining({
        kind: 'htb',
        handle: '1:',
        parent: '',
        isDefault: false,
        packets: 9,
        dropped: 2,
        backlogBytes: 100
      })
    ]);
  });

  test('lists classes, with rates and sizes in units', () => {
    expect(parseClasses(CLASSES)).toEqual([
      expect.objectContaining({
        id: '1:10',
        parent: '1:1',
        leaf: '10:',
        prio: 0,
        rate: 1.6e6,
        ceil: 2e6,
        packets: 7,
        dropped: 3,
        backlogBytes: 4096
      }),
      expect.objectContaining({ id: '1:1', parent: '', leaf: '', rate: 2e6 }),
      expect.objectContaining({ id: '1:20', prio: 1, bytes: 100 })
    ]);
  });

  test('lists filters, without heads and hash tables', () => {
    expect(parseFilters(FILTERS)).toEqual([
      {
        parent: '1:',
        protocol: 'ip',
        pref: 10,
        kind: 'u32',
        flowid: '1:10',
        matches: ['00b80000/00fc0000 at 0']
      },
      { parent: '1:', protocol: 'all', pref: 30, kind: 'bpf', flowid: '', matches: [] }
    ]);
  });

  test('gives the default route with the smallest metric', () => {
    const routes = [
      { dst: '10.0.0.0/8', dev: 'tun0' },
      { dst: 'default', dev: 'wlan0', metric: 600 },
      { dst: 'default', dev: 'eth0', metric: 100 }
    ];
    expect(parseDefaultRoute(JSON.stringify(routes))).toBe('eth0');
    expect(parseDefaultRoute('[]')).toBe('');
  });

  test.each([
    '',
    '[',
    'null',
    '{}',
    '[null]',
    '[1,"a"]',
    '[{}]',
    '[{"kind":7}]',
    '\0',
    'class',
    'filter',
    'x'.repeat(100000),
    '[{"ifname":{}}]'
  ])('yields nothing for %#', (text) => {
    expect(parseQdiscs(text)).toEqual([]);
    expect(parseClasses(text)).toEqual([]);
    expect(parseFilters(text)).toEqual([]);
    expect(parseLink(text)).toBeNull();
    expect(parseDefaultRoute(text)).toBe('');
  });

  test('is read or omitted when cut anywhere, and never throws', () => {
    for (let end = 0; end < CLASSES.length; end += 1)
      expect(parseClasses(CLASSES.slice(0, end)).length).toBeLessThan(4);
    for (let end = 0; end < FILTERS.length; end += 1)
      expect(parseFilters(FILTERS.slice(0, end)).length).toBeLessThan(3);
  });
});

describe('htb', () => {
  test('is in order when filters lead to the class that goes first', () => {
    expect(verdictOf(facts({ qdiscs: [HTB], classes: CLASSES, filters: FILTERS }))).toEqual({
      ok: true,
      kind: 'htb',
      rate: 2e6,
      reason: 'The urgent class goes first, by DSCP, SO_PRIORITY (eBPF).',
      bands: [
        { name: '1:10', bytes: 700, packets: 7, dropped: 3, backlogBytes: 4096 },
        { name: '1:20', bytes: 100, packets: 1, dropped: 3, backlogBytes: 4096 }
      ]
    });
    expect(verdictOf(facts({ qdiscs: [HTB], classes: CLASSES, filters: EF_ONLY })).reason).toContain(
      'by DSCP.'
    );
  });

  test('requires three bands', () => {
    const third = htbClass('1:30', 'parent 1:1 prio 2 rate 200Kbit ceil 2Mbit');
    const { bands } = verdictOf(facts({ qdiscs: [HTB], classes: CLASSES + third, filters: FILTERS }));
    expect(bands.map(({ name }) => name)).toEqual(['urgent', 'normal', 'bulk']);
  });

  test('counts GSO packets as one, and reports when they are not off', () => {
    const link = LINK.replace('"gso_max_segs":1', '"gso_max_segs":65535');
    const verdict = verdictOf(facts({ qdiscs: [HTB], classes: CLASSES, filters: FILTERS, link }));
    expect(verdict).toMatchObject({ ok: true, reason: expect.stringContaining('gso_max_segs is not 1') });
  });

  test.each([
    ['without classes', HTB, '', FILTERS, 'htb has no classes'],
    ['without filters', HTB, CLASSES, '', 'No filter selects the most urgent class 1:10'],
    ['with filters to another class', HTB, CLASSES, EF_ONLY.replace('1:10', '1:20'), 'No filter selects'],
    [
      'with filters of another qdisc',
      HTB,
      CLASSES,
      FILTERS.replaceAll('parent 1:', 'parent 2:'),
      'No filter selects'
    ],
    [
      'whose classes are equal',
      HTB,
      CLASSES.replace('prio 1', 'prio 0'),
      FILTERS,
      'None of the htb classes goes before'
    ],
    [
      'that lets the rest go first',
      HTB.replace('0x20', '0x10'),
      CLASSES,
      FILTERS,
      'also go into the most urgent class'
    ],
    ['that lets the rest pass by', HTB.replace('0x20', '0'), CLASSES, FILTERS, 'bypass the classes']
  ])('is not in order: %s', (_, qdisc, classes, filters, reason) => {
    expect(verdictOf(facts({ qdiscs: [qdisc], classes, filters }))).toMatchObject({
      ok: false,
      kind: 'htb',
      reason: expect.stringContaining(reason)
    });
  });

  test('is in order with pfifo_fast inside the class of all', () => {
    const inner = `{"kind":"pfifo_fast","handle":"20:","parent":"1:20",${BANDS3},${COUNTS}}`;
    expect(verdictOf(facts({ qdiscs: [HTB, inner], classes: CLASSES }))).toMatchObject({
      ok: true,
      kind: 'htb-pfifo_fast',
      bands: [{ name: 'all', packets: 9 }]
    });
  });
});

describe('other schemes', () => {
  const tbf = `{"kind":"tbf","handle":"1:","root":true,"options":{"rate":250000,"burst":3028,"lat":50000},${COUNTS}}`;
  const inTbf = (/** @type {string} */ kind) =>
    `{"kind":"${kind}","handle":"2:","parent":"1:1",${BANDS3},${COUNTS}}`;

  test('require bands inside tbf', () => {
    expect(verdictOf(facts({ qdiscs: [tbf] }))).toMatchObject({ ok: false, kind: 'tbf', rate: 2e6 });
    expect(verdictOf(facts({ qdiscs: [tbf, inTbf('pfifo_fast')] }))).toMatchObject({
      ok: true,
      kind: 'tbf-pfifo_fast',
      rate: 2e6
    });
    expect(verdictOf(facts({ qdiscs: [tbf, inTbf('pfifo')] }))).toMatchObject({
      ok: false,
      kind: 'tbf-pfifo'
    });
  });

  const prioClasses = [1, 2, 3]
    .map(
      (n) =>
        `class prio 2:${n} parent 2: leaf ${n}0: \n Sent ${n}00 bytes ${n} pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n\n`
    )
    .join('');

  test('have counters for each band of prio (not real output: the kernel has no prio)', () => {
    const shown = { qdiscs: [tbf, inTbf('prio')], classes: prioClasses };
    expect(verdictOf(facts(shown))).toMatchObject({
      ok: true,
      kind: 'tbf-prio',
      bands: [
        { name: 'urgent', packets: 1 },
        { name: 'normal', packets: 2 },
        { name: 'bulk', packets: 3 }
      ]
    });
    const flat = facts(shown);
    flat.qdiscs[1].options.priomap = Array(16).fill(0);
    expect(verdictOf(flat)).toMatchObject({ ok: false, reason: expect.stringContaining('priomap') });
  });

  test.each([
    ['noqueue', '{}', false, 'no queue of its own'],
    ['mq', '{}', false, 'transmit rings'],
    ['fq_codel', '{}', false, 'never lets a packet overtake'],
    ['fq', '{}', false, 'never lets a packet overtake'],
    ['pfifo', '{"limit":10}', false, 'never lets a packet overtake'],
    ['cake', '{"diffserv":"diffserv3"}', true, 'Tins by DSCP'],
    ['cake', '{"diffserv":"besteffort"}', false, 'never lets a packet overtake'],
    ['somethingnew', '{}', false, 'never lets a packet overtake']
  ])('%s %s', (kind, options, ok, reason) => {
    const root = `{"kind":"${kind}","handle":"0:","root":true,"options":${options},${COUNTS}}`;
    expect(verdictOf(facts({ qdiscs: [root] }))).toMatchObject({
      ok,
      kind,
      rate: 0,
      reason: expect.stringContaining(reason)
    });
  });

  test('are in order with pfifo_fast at the root where packets wait there', () => {
    const root = `{"kind":"pfifo_fast","handle":"0:","root":true,${BANDS3},${COUNTS}}`;
    expect(verdictOf(facts({ qdiscs: [root] }))).toMatchObject({
      ok: true,
      reason: expect.stringMatching(/not count its bands separately\. Not shaped/),
      bands: [{ name: 'all', bytes: 900, dropped: 2, backlogBytes: 100 }]
    });
  });

  test('include an interface without any queue', () => {
    expect(verdictOf(facts({ qdiscs: [] }))).toMatchObject({ ok: false, kind: 'none', bands: [] });
  });
});

test('have a fingerprint of the set-up, not of its counters', () => {
  const one = facts({ qdiscs: [HTB], classes: CLASSES, filters: FILTERS });
  const counted = facts({
    qdiscs: [HTB.replace('"bytes":900', '"bytes":901').replace('stat":1', 'stat":2')],
    classes: CLASSES.replace('7 pkt', '70 pkt'),
    filters: FILTERS.replace('id 132', 'id 999')
  });
  expect(fingerprint(counted)).toEqual(fingerprint(one));
  const changed = facts({ qdiscs: [HTB], classes: CLASSES.replace('200Kbit', '300Kbit'), filters: FILTERS });
  expect(fingerprint(changed)).not.toEqual(fingerprint(one));
});
