'use strict';
// The parts of the OCF cloud that need no connection.

const { Attempts, MOST_FAILURES, WINDOW_MS } = require('../../../nodes/lib/ocf/cloud/attempts');
const { answerFormat } = require('../../../nodes/lib/ocf/cloud/bodies');
const { queryPairs, toUint, uint } = require('../../../nodes/lib/ocf/cloud/coap');
const { Grants, allows } = require('../../../nodes/lib/ocf/cloud/grants');
const { hrefProblem } = require('../../../nodes/lib/ocf/cloud/href');
const { withDefaults } = require('../../../nodes/lib/ocf/cloud/options');
const { Relations, MOST_RELATIONS, observeNumbers } = require('../../../nodes/lib/ocf/cloud/relations');
const { checkCritical, forController, forDevice } = require('../../../nodes/lib/ocf/cloud/route-options');
const { Sessions } = require('../../../nodes/lib/ocf/cloud/sessions');
const { expiresIn, newPair, userId, uuid5 } = require('../../../nodes/lib/ocf/cloud/tokens');
const { newCode, userProblem } = require('../../../nodes/lib/ocf/cloud/access-codes');
const { codeOf, hex, request } = require('../../fixtures/ocf/requests');

test('numbers in options have no leading zeros', () => {
  for (const [value, digits] of [
    [0, ''],
    [1, '01'],
    [255, 'ff'],
    [256, '0100'],
    [65536, '010000'],
    [2 ** 32 - 1, 'ffffffff']
  ]) {
    expect(uint(value).toString('hex')).toBe(digits);
    expect(toUint(uint(value))).toBe(value);
  }
  expect(toUint(Buffer.alloc(5))).toBeNaN();
});

test('queries come as one option or as several', () => {
  expect(queryPairs({ query: ['di=1&ins=2', 'ins=3;rt=a=b', '', 'x'] })).toEqual([
    ['di', '1'],
    ['ins', '2'],
    ['ins', '3'],
    ['rt', 'a=b'],
    ['x', '']
  ]);
});

test('an answer has the format that the client shows', () => {
  const format = (...options) => answerFormat(request({ options }), 60);
  const plain = [17, uint(60)];
  expect([format(), format(plain), format([17, uint(10000)]), format([2049, uint(2048)])]).toEqual([
    60, 60, 10000, 10000
  ]);
  expect(answerFormat(request())).toBe(10000);
  expect(answerFormat(request({ options: [[12, uint(60)]] }))).toBe(60);
  expect(codeOf(() => format([17, uint(0)]))).toBe('4.06');
  expect(codeOf(() => format([17, Buffer.alloc(9)]))).toBe('4.06');
});

test('ids of users are UUIDs of version 5, known and stable', () => {
  const dns = Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex');
  expect(uuid5(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  expect(userId('https://id.example', 'a')).toBe(userId('https://id.example', 'a'));
  expect(userId('https://id.example', 'a')).not.toBe(userId('https://id.exampl', 'ea'));
});

test('pairs of tokens are random, and their lifetime is whole seconds', () => {
  const [a, b] = [newPair(0, 10), newPair(0, -1)];
  expect(new Set([a.access, a.refresh, b.access, b.refresh]).size).toBe(4);
  expect([a.stored.expires, b.stored.expires]).toEqual([10000, 0]);
  expect([expiresIn(10000, 1), expiresIn(10000, 20000), expiresIn(0, 5)]).toEqual([9, 0, -1]);
});

test('wrong attempts are limited by address, and forgotten after a minute', () => {
  let now = 0;
  const attempts = new Attempts(() => now);
  const isRefused = (address) => codeOf(() => attempts.check(address)) === '4.29';
  for (let i = 0; i < MOST_FAILURES; i++) attempts.failed(`192.0.2.1:${i}`);
  expect([isRefused('192.0.2.1:99'), isRefused('192.0.2.2:99')]).toEqual([true, false]);
  now = WINDOW_MS;
  expect(isRefused('192.0.2.1:99')).toBe(false);
  // A host has a whole /64.
  for (let i = 0; i < MOST_FAILURES; i++) attempts.failed(`[2001:db8::${i}]:5`);
  expect([isRefused('[2001:db8::ffff]:1'), isRefused('[2001:db8:0:1::1]:1')]).toEqual([true, false]);
});

describe('options on the way to a device', () => {
  test('only harmless ones pass, in the device’s format', () => {
    const options = [
      [1, hex('01')],
      [4, hex('02')],
      [6, hex('')],
      [3, hex('61')],
      [7, hex('01')],
      [2052, hex('01')],
      [60, hex('0101')],
      [17, uint(60)],
      [12, uint(60)]
    ];
    const passed = forDevice(request({ options, payload: hex('a0') }));
    expect(passed.map(([number]) => number).sort((a, b) => a - b)).toEqual([1, 4, 12, 17, 60, 2049, 2053]);
    expect(
      passed.filter(([number]) => number === 12 || number === 17).map(([, value]) => toUint(value))
    ).toEqual([10000, 10000]);
  });

  test('malformed critical options are 4.02, malformed elective ones do not pass', () => {
    for (const option of [
      [5, hex('01')],
      [23, hex('01020304')],
      [27, hex('01020304')],
      [1, Buffer.alloc(9)]
    ]) {
      expect([option[0], codeOf(() => forDevice(request({ options: [option] })))]).toEqual([
        option[0],
        '4.02'
      ]);
    }
    expect(
      codeOf(() =>
        forDevice(
          request({
            options: [
              [23, hex('01')],
              [23, hex('02')]
            ]
          })
        )
      )
    ).toBe('4.02');
    expect(
      forDevice(
        request({
          options: [
            [4, Buffer.alloc(9)],
            [60, Buffer.alloc(5)]
          ]
        })
      ).map(([number]) => number)
    ).toEqual([17, 2049]);
    expect(codeOf(() => forDevice(request({ query: ['x'.repeat(256)] })))).toBe('4.02');
    expect(codeOf(() => forDevice(request({ query: Array(33).fill('a=1') })))).toBe('4.02');
  });

  test('unknown critical options and proxy requests are refused', () => {
    const codes = [9, 13, 35, 39, 2051, 65001].map((number) =>
      codeOf(() => checkCritical(request({ options: [[number, hex('01')]] })))
    );
    expect(codes).toEqual(['4.02', '4.02', '5.05', '5.05', '4.02', '4.02']);
    expect(
      codeOf(() =>
        checkCritical(
          request({
            options: [
              [1, hex('')],
              [2049, uint(2048)],
              [2052, hex('')]
            ]
          })
        )
      )
    ).toBe('');
  });

  test('an answer has no option that the controller may reject', () => {
    const answer = [
      [12, uint(10000)],
      [2053, uint(2048)],
      [14, uint(5)],
      [65001, hex('01')],
      [65002, hex('01')]
    ];
    const numbers = (options) =>
      forController(answer, request({ options }), 'di').map(([number, value]) => [number, toUint(value)]);
    expect(numbers([])).toEqual([
      [12, 10000],
      [14, 5]
    ]);
    expect(
      numbers([
        [17, uint(60)],
        [2049, uint(2048)]
      ])
    ).toEqual([
      [12, 60],
      [14, 5]
    ]);
    expect(numbers([[2049, uint(2048)]])).toEqual([
      [12, 10000],
      [2053, 2048],
      [14, 5]
    ]);
  });

  test('an answer has no more options, and no longer ones, than the desk takes', () => {
    const long = [4, Buffer.alloc(1035)];
    const longest = [4, Buffer.alloc(1034)];
    const numbers = (options) => forController(options, request(), 'di').map(([number]) => number);
    expect(numbers([long, longest, [14, uint(5)]])).toEqual([4, 14]);
    expect(numbers(Array(300).fill(longest))).toHaveLength(64);
  });
});

test('a path of a device is one that comes back unchanged from its segments', () => {
  for (const href of ['/a', '/a/b', '/a b', '/ä', '/a/', '/a//b'])
    expect([href, hrefProblem(href)]).toEqual([href, '']);
  for (const href of ['a', '/', '//', '/..', '/a/./b', '/\u0085', 7, undefined])
    expect([href, hrefProblem(href) !== '']).toEqual([href, true]);
});

test('relations replace one another by token, and end once', () => {
  const ended = [];
  const relations = new Relations();
  relations.add(Buffer.from('a'), () => ended.push(1));
  const remove = relations.add(Buffer.from('a'), () => ended.push(2));
  expect(ended).toEqual([1]);
  remove();
  relations.end(Buffer.from('a'));
  expect([ended, relations.size]).toEqual([[1], 0]);
  for (let i = 0; i < MOST_RELATIONS; i++) relations.add(Buffer.from([i]), () => ended.push(3));
  expect(codeOf(() => relations.check())).toBe('5.03');
  relations.endAll();
  expect([ended.length, relations.size]).toEqual([1 + MOST_RELATIONS, 0]);
  const next = observeNumbers();
  expect([next(), next()]).toEqual([2, 3]);
});

test('what a released connection reports later does not turn its device off', () => {
  const sessions = new Sessions(() => 0);
  const [old, fresh] = [1, 2].map((connection) => sessions.peerOf(request({ connection })));
  const session = { di: 'd', uid: 'u', until: 10 };
  sessions.signIn(old, session);
  sessions.signIn(fresh, session);
  expect(sessions.signOut(sessions.take(1))).toBe('');
  expect(sessions.isReachable('d')).toBe(true);
  expect(sessions.signOut(sessions.take(2))).toBe('d');
  expect([sessions.of('d'), sessions.size]).toEqual([undefined, 0]);
});

test('a silent connection that asked to be watched is overdue', () => {
  let now = 0;
  const sessions = new Sessions(() => now);
  const peer = sessions.peerOf(request());
  peer.silentUntil = 100;
  expect(sessions.overdue()).toEqual([]);
  now = 100;
  expect(sessions.overdue()).toEqual([{ peer, reason: 'silent' }]);
});

test('rights: the owner all, a guest what was shared; a change during a look-up is not forgotten', async () => {
  let answer = { uid: 'owner', shares: [{ uid: 'guest', rights: 'r' }] };
  let grants = null;
  const store = {
    read: async () => {
      const found = answer;
      if (answer?.shares.length === 0) grants.forget('d');
      return found;
    }
  };
  grants = new Grants(store);
  expect([
    await grants.rights('d', 'owner'),
    await grants.rights('d', 'guest'),
    await grants.rights('d', 'x')
  ]).toEqual(['rw', 'r', '']);
  expect(['GET', 'FETCH', 'POST', 'PATCH'].map((method) => allows('r', method))).toEqual([
    true,
    true,
    false,
    false
  ]);
  answer = { uid: 'owner', shares: [] };
  expect(await grants.rights('d', 'guest')).toBe('r');
  grants.forget('d');
  expect(await grants.rights('d', 'guest')).toBe('');
  answer = null;
  expect(await grants.rights('d', 'guest')).toBe(null);
});

test('options have limits, and an error names the option', () => {
  const given = { sid: 'x', endpoint: 'coap+tcp://a' };
  expect(withDefaults(given)).toMatchObject({ accessSeconds: 3600, mostOpen: 32, requestTimeoutMs: 10000 });
  for (const [name, value] of [
    ['accessSeconds', 0],
    ['accessSeconds', 1.5],
    ['mostOpen', 0],
    ['refreshDays', '9'],
    ['mostDevices', NaN]
  ]) {
    expect(() => withDefaults({ ...given, [name]: value })).toThrow(name);
  }
});

test('access codes are random, long, and for users with a plain name', async () => {
  const written = [];
  const store = { write: async (_name, input) => written.push(input) };
  const codes = [
    await newCode(store, 'alice', { now: 0 }),
    await newCode(store, 'alice', { now: 0, minutes: 1 })
  ];
  for (const { code } of codes) expect(code).toMatch(/^[a-zL2-9]{24}$/);
  expect(codes[0].code).not.toBe(codes[1].code);
  expect(written.map(({ expires }) => expires)).toEqual([600000, 60000]);
  expect(['alice', 'a@b', 'é'].map(userProblem)).toEqual(['', '', '']);
  for (const name of ['', 'a b', 'a:b', 'a/b', 'a\n', 'x'.repeat(129)])
    await expect(newCode(store, name)).rejects.toThrow('user name');
});
