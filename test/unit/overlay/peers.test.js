'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventOf, messageOf, misuseOf, shownOf, statusOf } = require('../../../nodes/lib/overlay/peers');
const { joinProblem, parseOffers } = require('../../../nodes/lib/overlay/settings');
const { joinArguments, nodeArguments } = require('../../../nodes/lib/overlay/overlay-program');

test('reads a status, and leaves out what is malformed', () => {
  const status = statusOf({
    fqdn: 'gw.plant.seganet.internal',
    mode: 'netstack',
    addresses: ['fd00::1', 7],
    certificateExpires: '2026-11-30T00:00:00Z',
    peers: [
      {
        name: 'hub',
        path: 'direct',
        reason: 'x',
        rttMs: 1.5,
        heardAgoS: 3.4,
        bytesDirect: { in: 1, out: 2 },
        changes: [{}, {}]
      },
      {
        fqdn: 'b.plant.seganet.internal',
        path: 'relay',
        reason: 'UDP is blocked here',
        rttMs: -1,
        changes: 3
      },
      { name: 'c', path: 'teleport' },
      { name: 'd', path: 'none', sleeping: true },
      { name: 'e', path: 'none', sleeping: true, offline: true, heardAgoS: -1 },
      {},
      null
    ],
    services: [{ name: 'mqtt-1883', proto: 'tcp', port: 1883 }, { name: 'x' }, null, 7],
    refused: { inbound: { accepted: 9, 'spoofed source': 2 }, outbound: { 'spoofed source': 1, x: -1 } }
  });
  expect(status.peers).toEqual([
    {
      name: 'hub',
      path: 'direct',
      reason: '',
      isSleeping: false,
      isOffline: false,
      heardS: 3,
      via: 'direct',
      rttMs: 1.5,
      bytesDirect: 3,
      bytesRelay: 0,
      changes: 2
    },
    {
      name: 'b.plant.seganet.internal',
      path: 'relay',
      reason: 'UDP is blocked here',
      isSleeping: false,
      isOffline: false,
      heardS: null,
      via: 'relay',
      rttMs: null,
      bytesDirect: 0,
      bytesRelay: 0,
      changes: 3
    },
    {
      name: 'c',
      path: 'none',
      via: 'none',
      reason: '',
      isSleeping: false,
      isOffline: false,
      heardS: null,
      rttMs: null,
      bytesDirect: 0,
      bytesRelay: 0,
      changes: 0
    },
    {
      name: 'd',
      path: 'none',
      via: 'none',
      reason: '',
      isSleeping: true,
      isOffline: false,
      heardS: null,
      rttMs: null,
      bytesDirect: 0,
      bytesRelay: 0,
      changes: 0
    },
    expect.objectContaining({ name: 'e', isOffline: true, heardS: null })
  ]);
  expect(status.addresses).toEqual(['fd00::1']);
  expect(status.offered).toEqual([{ name: 'mqtt-1883', network: 'tcp', port: 1883 }]);
  expect(status.refused).toEqual({ 'spoofed source': 3 });
  expect(shownOf(status)).toEqual({
    fill: 'yellow',
    shape: 'dot',
    text: '1 direct, 1 by relay, 1 asleep, 1 offline, 1 unreachable'
  });
  for (const given of [undefined, null, 7, 'x', [], { peers: {}, refused: 3, addresses: 'x' }])
    expect(statusOf(given)).toMatchObject({ fqdn: '', peers: [], refused: {} });
  expect(shownOf(statusOf({}))).toMatchObject({ fill: 'green', text: 'no peer in use' });
});

test('counts the peers that it does not show', () => {
  const status = statusOf({
    peers: Array.from({ length: 1025 }, (_, i) => ({ name: `n${i}`, path: 'direct' })),
    peersLeftOut: 7
  });
  expect(status.peers).toHaveLength(1024);
  expect(shownOf(status).text).toBe('1024 direct, 8 more');
  expect(statusOf({ peersLeftOut: -1 }).peersLeftOut).toBe(0);
});

test('a node that the services refuse is red, and one that does not reach them is not', () => {
  const ofServices = (servicesError, signalling = false) => statusOf({ servicesError, node: { signalling } });
  const revoked =
    'wss://o/v1/signal refuses the connection: the certificate 82f of gw.plant.seganet.internal is revoked. Invite the node again if it is still wanted';
  expect(ofServices(revoked).services).toEqual({
    areReached: false,
    problem: revoked,
    isRevoked: true,
    isSuspended: false,
    isRefused: true
  });
  expect(shownOf(ofServices(revoked))).toMatchObject({
    fill: 'red',
    text: 'revoked: invite this node again'
  });
  const refused = ofServices('wss://o refuses the connection: the certificate has expired');
  expect(shownOf(refused)).toMatchObject({ fill: 'red', text: 'the services refuse this node' });
  for (const given of [ofServices('dial tcp: connection refused'), ofServices(revoked, true), statusOf({})])
    expect(shownOf(given)).toMatchObject({ fill: 'green' });
});

test('a node whose identity is used twice is red, and says whether the services have suspended it', () => {
  const now = Date.parse('2026-11-30T12:00:00Z');
  const status = statusOf({ usedTwice: '2026-11-30T11:51:00Z', node: { signalling: true } });
  expect(status.usedTwice).toBe(now - 540_000);
  expect([misuseOf(status, now), shownOf(status, now)]).toEqual([
    'twice',
    { fill: 'red', shape: 'dot', text: 'identity used twice' }
  ]);
  expect([misuseOf(status, now + 60_000), shownOf(status, now + 60_000).fill]).toEqual(['', 'green']);
  for (const usedTwice of [undefined, null, 7, {}, 'yesterday'])
    expect(misuseOf(statusOf({ usedTwice }), now)).toBe('');
  const refusal =
    'wss://o/v1/signal refuses the connection: This node is suspended, because two programs used it';
  // The sentences about other addresses of the services may be long.
  for (const servicesError of [refusal, `${'x'.repeat(1000)}; ${refusal}`]) {
    const suspended = statusOf({ servicesError });
    expect(suspended.services).toMatchObject({ isSuspended: true, isRefused: true, isRevoked: false });
    expect(suspended.services.problem.length).toBeLessThanOrEqual(300);
    expect(shownOf(suspended, now)).toMatchObject({ fill: 'red', text: 'suspended: identity used twice' });
  }
  expect(statusOf({ servicesError: refusal, node: { signalling: true } }).services.isSuspended).toBe(false);
});

test('an event becomes a message', () => {
  const event = eventOf(
    {
      event: 'path',
      time: '2026-11-23T20:00:00Z',
      peer: { name: 'hub', path: 'relay', reason: 'silent' },
      text: 'hub: relay'
    },
    5
  );
  expect(event && messageOf(event)).toEqual({
    topic: 'overlay/hub/path',
    payload: {
      at: Date.parse('2026-11-23T20:00:00Z'),
      event: 'path',
      peer: 'hub',
      path: 'relay',
      reason: 'silent',
      text: 'hub: relay'
    }
  });
  const refused = eventOf({ event: 'refused' }, 5);
  expect(refused && messageOf(refused)).toEqual({
    topic: 'overlay/node/refused',
    payload: { at: 5, event: 'refused' }
  });
  for (const given of [null, {}, { event: 7 }, { event: 'UP' }, { event: 'a/b' }, { event: 'x'.repeat(40) }])
    expect(eventOf(given, 5)).toBeNull();
});

test('offers are checked', () => {
  expect(parseOffers(' broker=tcp/1883@127.0.0.1:1883,\ncoap=udp/5683@[::1]:5683 ')).toEqual([
    'broker=tcp/1883@127.0.0.1:1883',
    'coap=udp/5683@[::1]:5683'
  ]);
  expect(parseOffers('')).toEqual([]);
  for (const wrong of [
    'x',
    'a=tcp/0@h:1',
    'a=tcp/1@h:70000',
    'a=sctp/1@h:1',
    'A=tcp/1@h:1',
    'a=tcp/1@h:1 a=tcp/2@h:1'
  ])
    expect(() => parseOffers(wrong)).toThrow(RangeError);
});

test('a network is joined with all three or none', () => {
  expect(joinProblem({ address: '', root: '', token: '' })).toBe('');
  expect(joinProblem({ address: 'u', root: 'r', token: 't' })).toBe('');
  expect(joinProblem({ address: 'u', root: '', token: 't' })).toMatch(/enter all three/);
});

test('a join names the devices, as far as their table can be read', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'overlay-'));
  const file = path.join(folder, 'devices.json');
  const options = {
    file: 'x',
    folder,
    url: 'u',
    root: 'r',
    token: 't',
    device: '',
    offers: [],
    devices: file
  };
  const names = () => joinArguments(options).slice(7);
  try {
    expect(names()).toEqual([]);
    fs.writeFileSync(
      file,
      '{"devices":[{"name":"pump","lan":"192.168.1.7"},{"name":"valve"},{"name":7},null]}'
    );
    expect(names()).toEqual(['--device', 'pump', '--device', 'valve']);
    for (const wrong of [
      '',
      '{',
      '[]',
      'null',
      '{"devices":7}',
      '{"devices":[{"name":"--again"}]}',
      ' '.repeat(70000)
    ]) {
      fs.writeFileSync(file, wrong);
      expect(names()).toEqual([]);
    }
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('the program is found where its build and its packages put it', () => {
  const { PROGRAM, PLATFORMS } = require('../../../native/overlay/build');
  const { program } = require('../../../nodes/lib/overlay/locations');
  expect(program({ SEGANET_OVERLAY: '/opt/overlay' })).toBe('/opt/overlay');
  expect(PLATFORMS.map(({ os: name }) => name)).toContain('linux');
  const found = program({});
  if (fs.existsSync(PROGRAM))
    expect([PROGRAM, expect.stringMatching(/overlay-\w+-\w+\/bin\/seganet-overlay$/)]).toContainEqual(found);
  else expect(found).toMatch(/^$|\/bin\/seganet-overlay$/);
});

test('the token is no argument of the program, which every user could read', () => {
  const options = {
    file: 'x',
    folder: '/s',
    url: 'https://o',
    root: 'sha256:0',
    token: 'secret',
    device: 'seganet0',
    offers: ['a=tcp/1@h:1'],
    devices: '/d.json'
  };
  expect(joinArguments(options)).toEqual([
    'join',
    '--state',
    '/s',
    '--url',
    'https://o',
    '--root',
    'sha256:0'
  ]);
  expect(nodeArguments(options)).toEqual(
    'node --state /s --until-eof --tun seganet0 --offer a=tcp/1@h:1 --devices /d.json'.split(' ')
  );
});
