'use strict';

// Where an uplink with several URLs is: its sessions are made up, and so is the time.

const { UplinkUrls } = require('../../../nodes/lib/uplink/urls/uplink-urls');

const DEAD = { code: 'ECONNREFUSED', reason: 'Nothing listens there.', refused: false };
const REFUSED = {
  code: 'CONNACK 133',
  reason: 'The broker refused the client id.',
  refused: true,
  slow: true
};
const TIMES = { reconnectMinMs: 500, reconnectMaxMs: 5000, refusedMinMs: 30000, refusedMaxMs: 300000 };

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  for (const urls of all.splice(0)) urls.stop();
  jest.useRealTimers();
});

/** @type {UplinkUrls[]} */
const all = [];
const pass = (/** @type {number} */ ms) => jest.advanceTimersByTimeAsync(ms);

/** A session whose connections the test makes and ends. */
class FakeSession {
  /** @param {UplinkUrls} urls @param {boolean} leads */
  constructor(urls, leads) {
    this.choice = urls.choice({ follows: !leads });
    this.connected = false;
    this.moves = [];
    this.log = [];
    this.inflight = 0;
    const feeder = {
      pause: () => void this.log.push('pause'),
      resume: () => void this.log.push('resume'),
      inflight: 0
    };
    Object.defineProperty(feeder, 'inflight', { get: () => this.inflight });
    urls.add({ session: this, feeder, choice: this.choice, leads });
  }

  goTo(index, { code }) {
    this.choice.goTo(index);
    this.connected = false;
    this.moves.push(`${code} ${index}`);
  }

  up() {
    this.connected = true;
    this.choice.accepted();
    this.choice.connected();
  }

  /** The connection is gone, and the attempts fail until the session is at this URL. @param {number} index */
  failTo(index) {
    this.connected = false;
    while (this.choice.index !== index) this.choice.failed(DEAD);
  }
}

/** @param {{ count?: number, sessions?: number, returnMs?: number, works?: (index: number) => boolean }} [options] */
function make({ count = 2, sessions = 2, returnMs = 0, works = () => true } = {}) {
  const probed = [];
  const urls = new UplinkUrls({
    options: {
      addresses: Array.from({ length: count }, (_, i) => ({ host: `h${i}`, port: 1883, secure: false })),
      returnMs,
      ...TIMES
    },
    probe: async (index) => {
      probed.push(index);
      return works(index) ? null : { code: 'CONNACK 135', reason: 'Refused.' };
    },
    onChange: () => {},
    random: () => 0.5
  });
  all.push(urls);
  const members = Array.from({ length: sessions }, () => new FakeSession(urls, true));
  return { urls, members, probed };
}

test('is at the first URL, and no move is counted', async () => {
  const { urls, members, probed } = make({ returnMs: 1000 });
  for (const member of members) member.up();
  await pass(100000);
  expect(urls.view()).toEqual({
    url: 1,
    failovers: 0,
    returns: 0,
    moved: null,
    urls: [
      { url: 'h0:1883', state: 'active', code: '', reason: '' },
      { url: 'h1:1883', state: 'unknown', code: '', reason: '' }
    ]
  });
  expect([members[0].moves, members[1].moves, probed]).toEqual([[], [], []]);
});

test('moves with the first session that connects elsewhere, and names the reason', async () => {
  const { urls, members } = make();
  const [first, second] = members;
  for (const member of members) member.up();
  first.failTo(1);
  expect(urls.view()).toMatchObject({ url: 1, failovers: 0 });
  first.up();
  expect(urls.view()).toMatchObject({
    url: 2,
    failovers: 1,
    moved: { from: 'h0:1883', to: 'h1:1883', code: 'ECONNREFUSED', reason: DEAD.reason, isReturn: false },
    urls: [{ state: 'failed', code: 'ECONNREFUSED' }, { state: 'active' }]
  });
  // The new connection must last before it takes another one along.
  await pass(1900);
  expect(second.moves).toEqual([]);
  await pass(200);
  expect([second.log, second.moves]).toEqual([['pause'], ['URL_MOVED 1']]);
  second.up();
  await pass(100000);
  expect([second.moves.length, urls.view().failovers]).toEqual([1, 1]);
});

test('takes a session without a connection along at once', () => {
  const { members } = make();
  const [first, second] = members;
  for (const member of members) member.up();
  second.connected = false;
  first.failTo(1);
  first.up();
  expect(second.moves).toEqual(['URL_MOVED 1']);
});

test('leaves a working session alone while the new connection does not last', async () => {
  const { members } = make();
  const [first, second] = members;
  for (const member of members) member.up();
  for (let i = 0; i < 5; i++) {
    first.failTo(1);
    first.up();
    await pass(500);
    first.failTo(0);
    await pass(5000);
  }
  expect(second.moves).toEqual([]);
});

test('waits for what is in flight before it moves a working session, but not for ever', async () => {
  const { members } = make();
  const [first, second] = members;
  for (const member of members) member.up();
  second.inflight = 3;
  first.failTo(1);
  first.up();
  await pass(3900);
  expect([second.log, second.moves]).toEqual([['pause'], []]);
  await pass(200);
  expect(second.moves).toEqual(['URL_MOVED 1']);
});

test('leaves a session where it is accepted, and the others where they are', async () => {
  const { urls, members } = make();
  const [first, second] = members;
  first.up();
  second.choice.failed(REFUSED);
  second.up();
  expect(urls.view()).toMatchObject({
    url: 1,
    failovers: 0,
    urls: [{ state: 'active', code: 'CONNACK 133' }, {}]
  });
  await pass(100000);
  expect([first.moves, second.moves]).toEqual([[], []]);
  // Now the first URL fails for the other one, too.
  first.failTo(1);
  first.up();
  expect(urls.view()).toMatchObject({ url: 2, failovers: 1 });
});

test('tries again after a while whether a broker accepts a session that it refused', async () => {
  const { members } = make({ returnMs: 300000 });
  const [first, second] = members;
  first.up();
  second.choice.failed(REFUSED);
  second.up();
  await pass(299000);
  expect(second.moves).toEqual([]);
  await pass(6000);
  expect(second.moves).toEqual(['URL_MOVED 0']);
  second.choice.failed(REFUSED);
  second.up();
  await pass(10000);
  expect([first.moves, second.moves.length]).toEqual([[], 1]);
});

test('sessions of which each broker refuses one do not drag each other to and fro', async () => {
  const { members } = make();
  const [first, second] = members;
  first.failTo(1);
  first.choice.failed(REFUSED);
  first.up();
  second.choice.failed(REFUSED);
  second.up();
  await pass(100000);
  first.connected = false;
  first.choice.lost();
  first.up();
  await pass(100000);
  second.connected = false;
  second.choice.lost();
  second.up();
  await pass(100000);
  expect([first.moves, second.moves]).toEqual([[], []]);
});

test('the session for commands follows, and never leads', async () => {
  const { urls, members } = make({ sessions: 1 });
  const commands = new FakeSession(urls, false);
  const [first] = members;
  first.up();
  commands.up();
  commands.connected = false;
  commands.choice.failed({ ...DEAD, code: 'SUBACK 135', slow: true });
  expect([commands.choice.index, urls.view().url]).toEqual([0, 1]);
  first.failTo(1);
  first.up();
  expect([commands.choice.index, commands.moves]).toEqual([1, ['URL_MOVED 1']]);
});

/** An uplink that has left its first URL. @param {Parameters<typeof make>[0]} options */
function away(options) {
  const made = make(options);
  for (const member of made.members) member.up();
  for (const member of made.members) member.failTo(1);
  for (const member of made.members) member.up();
  return made;
}

test('returns when the first URL has answered all probes for the time: the last session first', async () => {
  const { urls, members, probed } = away({ returnMs: 10000 });
  const [first, last] = members;
  await pass(11900);
  expect([probed.length, last.moves]).toEqual([5, []]);
  expect(urls.view().urls[0]).toMatchObject({ state: 'answers', code: '' });
  await pass(200);
  expect([last.log, last.moves, first.moves]).toEqual([['pause'], ['URL_RETURN 0'], []]);
  last.up();
  expect(urls.view()).toMatchObject({
    url: 1,
    failovers: 1,
    returns: 1,
    moved: { isReturn: true, code: '' }
  });
  await pass(2100);
  expect(first.moves).toEqual(['URL_MOVED 0']);
  first.up();
  await pass(60000);
  expect(probed.length).toBe(6);
});

test('a probe that fails begins the time again, and its reason is shown', async () => {
  let isGood = true;
  const { urls, members } = away({ returnMs: 10000, works: () => isGood });
  await pass(9000);
  isGood = false;
  await pass(2000);
  expect(urls.view().urls[0]).toMatchObject({ state: 'failed', code: 'CONNACK 135', reason: 'Refused.' });
  isGood = true;
  await pass(10900);
  expect(members[1].moves).toEqual([]);
  await pass(3000);
  expect(members[1].moves).toEqual(['URL_RETURN 0']);
});

test('does not return while something is in flight, and goes on sending', async () => {
  const { members } = away({ returnMs: 1000 });
  const [, last] = members;
  last.inflight = 1;
  await pass(20000);
  expect(last.moves).toEqual([]);
  expect(last.log.slice(0, 2)).toEqual(['pause', 'resume']);
  last.inflight = 0;
  await pass(12000);
  expect(last.moves).toEqual(['URL_RETURN 0']);
});

test('a return that fails costs only the session that went first', async () => {
  const { urls, members } = away({ returnMs: 1000 });
  const [first, last] = members;
  await pass(1700);
  expect(last.moves).toEqual(['URL_RETURN 0']);
  last.choice.failed(DEAD);
  expect(last.choice.index).toBe(1);
  last.up();
  expect(urls.view()).toMatchObject({ url: 2, failovers: 1, returns: 0, urls: [{ state: 'failed' }, {}] });
  await pass(500);
  expect(first.moves).toEqual([]);
});

test('probes also while a connection comes and goes', async () => {
  const { members, probed } = away({ returnMs: 300000 });
  for (let i = 0; i < 100; i++) {
    members[0].up();
    await pass(2000);
  }
  expect(probed.length).toBe(3);
});

test('never returns, and probes nothing, if the time is 0', async () => {
  const { members, probed } = away({ returnMs: 0 });
  await pass(1000000);
  expect([probed, members[0].moves, members[1].moves]).toEqual([[], [], []]);
});

test('returns to the best URL that answers, and then to a better one', async () => {
  let good = [1];
  const { urls, members } = make({
    count: 3,
    sessions: 1,
    returnMs: 5000,
    works: (index) => good.includes(index)
  });
  const [only] = members;
  only.failTo(2);
  only.up();
  await pass(7000);
  expect(only.moves).toEqual(['URL_RETURN 1']);
  only.up();
  good = [0, 1];
  await pass(8000);
  expect(only.moves).toEqual(['URL_RETURN 1', 'URL_RETURN 0']);
  only.up();
  expect(urls.view()).toMatchObject({ url: 1, returns: 2, failovers: 1 });
});

test('moves nothing after its end, and lets a session that waits go on', async () => {
  const { urls, members, probed } = away({ returnMs: 1000 });
  members[1].inflight = 1;
  await pass(1700);
  expect(members[1].log).toEqual(['pause']);
  urls.stop();
  members[1].inflight = 0;
  await pass(60000);
  expect([members[1].log, members[1].moves]).toEqual([['pause', 'resume'], []]);
  expect(probed.length).toBeLessThan(8);
});
