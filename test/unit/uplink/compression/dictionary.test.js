'use strict';

// The dictionary of an uplink with fake sessions and a fake clock: when it is published, and who uses it.

const { Dictionary } = require('../../../../nodes/lib/uplink/compression/dictionary');
const { Aside, ASIDE_ID } = require('../../../../nodes/lib/uplink/compression/aside');

/** A dictionary with fake sessions, whose records become 40 % smaller with any dictionary. */
function dictionaryOf({
  proposed = 60,
  perSecond = 10000,
  ready = true,
  receiveMaximum = 65535,
  maximumPacketSize = 0
} = {}) {
  /** @type {any[]} */
  const published = [];
  const state = {
    now: 0,
    publishedAt: 0,
    after: 0,
    proposed,
    problems: /** @type {string[]} */ ([]),
    reasons: /** @type {string[]} */ ([])
  };
  const session = () => {
    const aside = new Aside(
      (bytes) => {
        published.push(bytes);
        state.publishedAt = state.now;
      },
      () => state.now
    );
    const link = {
      protocolVersion: 5,
      retainAvailable: ready,
      maximumQos: 2,
      receiveMaximum,
      maximumPacketSize
    };
    aside.connected(/** @type {any} */ (link), 100, true);
    const writer = {
      compression: () => ({ after: state.after, fresh: 64 }),
      proposeDictionary: (/** @type {number} */ _, /** @type {number} */ max) =>
        Buffer.alloc(Math.min(max, 6000), `${state.now}`),
      tryDictionary: () => ({ plain: 500, current: 100, proposed: state.proposed }),
      setDictionary: (/** @type {number} */ stage, /** @type {Buffer} */ hash) =>
        uses.set(stage, hash.toString('hex'))
    };
    /** The dictionaries of its stages. @type {Map<number, string>} */
    const uses = new Map();
    return { writer: /** @type {any} */ (writer), aside, bytes: () => 16384, link, uses };
  };
  const sessions = [session(), session()];
  const problem = (/** @type {string} */ code, /** @type {string} */ reason) => {
    state.problems.push(code);
    state.reasons.push(reason);
  };
  const dictionary = new Dictionary({ topic: 't/', sessions, now: () => state.now, problem, slot: 0 });
  dictionary.setStages([1]);
  const pass = (/** @type {number} */ seconds) => {
    for (let i = 0; i < seconds; i++) {
      state.now += 1000;
      state.after += perSecond;
      dictionary.everySecond();
    }
  };
  return { dictionary, sessions, published, state, pass };
}

const topicOf = (/** @type {Buffer} */ packet) => /t\/\d/.exec(packet.toString('latin1'))?.[0];
const NONE = '0000000000000000';

test('renews a dictionary only when it pays, at most every ten minutes, on two topics in turn', () => {
  const { dictionary, sessions, published, state, pass } = dictionaryOf();
  pass(30);
  expect(published.map(topicOf)).toEqual(['t/2']);
  expect(dictionary.hash).toBe('');
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  expect(dictionary.hash).toMatch(/^[0-9a-f]{16}$/);
  for (const { uses } of sessions) expect([...uses]).toEqual([[1, dictionary.hash]]);
  pass(590);
  expect(published).toHaveLength(1);
  pass(90);
  expect(published.map(topicOf)).toEqual(['t/2', 't/1']);
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  state.proposed = 97;
  pass(3600);
  expect(published).toHaveLength(2);
});

test('publishes none for a flow that sends too little', () => {
  const { published, pass } = dictionaryOf({ perSecond: 5 });
  pass(600);
  expect(published).toEqual([]);
});

test('publishes none to a broker without retained messages, or with room for one message', () => {
  for (const options of [{ ready: false }, { receiveMaximum: 1 }]) {
    const { published, pass } = dictionaryOf(options);
    pass(60);
    expect(published).toEqual([]);
  }
});

test('warns when the broker refuses it, and asks again after an hour', () => {
  const { dictionary, sessions, published, state, pass } = dictionaryOf();
  pass(30);
  sessions[1].aside.acknowledged(ASIDE_ID, 0x87);
  expect(state.problems).toEqual(['DICTIONARY']);
  pass(3500);
  expect([published.length, dictionary.hash]).toEqual([1, '']);
  pass(200);
  expect(published).toHaveLength(2);
});

describe('a broker that closes the connection behind a dictionary', () => {
  /** The broker closes the connection this many ms after each dictionary. */
  function closing(rig, ms) {
    const { dictionary, sessions, published, state, pass } = rig;
    return (seconds) => {
      for (let i = 0, seen = published.length; i < seconds; i++) {
        pass(1);
        if (published.length === seen) continue;
        seen = published.length;
        state.now += ms;
        for (const { aside } of sessions) aside.disconnected();
        dictionary.disconnected();
        for (const { aside, link } of sessions) aside.connected(/** @type {any} */ (link), 100, true);
      }
    };
  }

  test('gets no more after three times, for an hour, and the user a sentence', () => {
    const rig = dictionaryOf();
    const pass = closing(rig, 100);
    pass(3600);
    expect(rig.published).toHaveLength(3);
    expect(rig.state.problems).toEqual(['DICTIONARY']);
    expect(rig.state.reasons[0]).toBe(
      'The connection ended 3 times in a row right behind the retained message t/2 with the dictionary of the compression. A broker of MQTT 3.1.1 that does not allow a message closes the connection. Allow this client to publish it. For the next hour, envelopes are compressed without a dictionary.'
    );
    expect(rig.dictionary.hash).toBe('');
    pass(200);
    expect(rig.published).toHaveLength(6);
    expect(rig.state.problems).toHaveLength(2);
  });

  test('gets more if a connection took one meanwhile, or ended later', () => {
    const rig = dictionaryOf();
    const { published, sessions, state } = rig;
    const pass = closing(rig, 100);
    while (published.length < 2) pass(1);
    while (published.length < 3) rig.pass(1);
    expect(sessions[1].aside.acknowledged(ASIDE_ID, 0)).toBe(true);
    for (const { aside } of sessions) aside.disconnected();
    rig.dictionary.disconnected();
    for (const { aside, link } of sessions) aside.connected(/** @type {any} */ (link), 100, true);
    while (published.length < 5) pass(1);
    const late = closing(rig, 6000);
    while (published.length < 10) late(1);
    expect(state.problems).toEqual([]);
  });

  test('keeps nothing to remove when it closes at the removal', () => {
    const rig = dictionaryOf();
    rig.pass(30);
    rig.sessions[1].aside.acknowledged(ASIDE_ID, 0);
    rig.dictionary.forget();
    rig.dictionary.setStages([]);
    const pass = closing(rig, 100);
    pass(7300);
    expect(rig.dictionary.isOver).toBe(true);
    expect(rig.state.problems).toHaveLength(2);
  });
});

test('stops using it when its connection ends, and publishes it again on the next one', () => {
  const { dictionary, sessions, published, state, pass } = dictionaryOf();
  pass(30);
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  const { hash } = dictionary;
  for (const { aside } of sessions) aside.disconnected();
  dictionary.disconnected();
  expect([dictionary.hash, ...sessions.map(({ uses }) => uses.get(1))]).toEqual(['', NONE, NONE]);
  for (const { aside, link } of sessions) aside.connected(/** @type {any} */ (link), 100, true);
  pass(60);
  expect(published.map(topicOf)).toEqual(['t/2', 't/2']);
  expect(dictionary.hash).toBe('');
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  expect(dictionary.hash).toBe(hash);
  expect(sessions.map(({ uses }) => uses.get(1))).toEqual([hash, hash]);
  expect(state.problems).toEqual([]);
});

test('uses it in another session that reconnects only after publishing it on the new connection', () => {
  const { dictionary, sessions, published, pass } = dictionaryOf();
  pass(30);
  const [urgent, bulk] = sessions;
  bulk.aside.acknowledged(ASIDE_ID, 0);
  const { hash } = dictionary;
  urgent.aside.disconnected();
  dictionary.disconnected();
  urgent.aside.connected(/** @type {any} */ (urgent.link), 100, true);
  expect([urgent.uses.get(1), bulk.uses.get(1)]).toEqual([NONE, hash]);
  pass(60);
  expect(published.map(topicOf)).toEqual(['t/2', 't/2']);
  // It does not hold for a connection that was made meanwhile.
  bulk.aside.disconnected();
  dictionary.disconnected();
  bulk.aside.connected(/** @type {any} */ (bulk.link), 100, true);
  urgent.aside.acknowledged(ASIDE_ID, 0);
  expect([urgent.uses.get(1), bulk.uses.get(1)]).toEqual([hash, NONE]);
  pass(61);
  expect(bulk.aside.acknowledged(ASIDE_ID, 0)).toBe(true);
  expect([urgent.uses.get(1), bulk.uses.get(1)]).toEqual([hash, hash]);
});

test('gives a stage whose topic changed the dictionary of the new topic, or none', () => {
  const { dictionary, sessions, pass } = dictionaryOf();
  for (const { uses } of sessions) uses.set(2, 'of another topic');
  dictionary.setStages([1, 2]);
  expect(sessions.map(({ uses }) => uses.get(2))).toEqual([NONE, NONE]);
  pass(30);
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  for (const { uses } of sessions) uses.set(3, 'of another topic');
  dictionary.setStages([1, 3]);
  expect(sessions.map(({ uses }) => uses.get(3))).toEqual([dictionary.hash, dictionary.hash]);
});

test('stops using a dictionary that must be forgotten, and removes both from the broker', () => {
  const { dictionary, sessions, published, pass } = dictionaryOf();
  pass(30);
  const { aside } = sessions[1];
  aside.acknowledged(ASIDE_ID, 0);
  expect(published.splice(0)).toHaveLength(1);
  dictionary.forget();
  expect([dictionary.hash, ...sessions.map(({ uses }) => uses.get(1))]).toEqual(['', NONE, NONE]);
  dictionary.setStages([]);
  expect(dictionary.isOver).toBe(false);
  pass(1);
  // Lost, and so sent again.
  aside.disconnected();
  aside.connected(/** @type {any} */ (sessions[1].link), 100, true);
  pass(1);
  aside.acknowledged(ASIDE_ID, 0);
  pass(1);
  aside.acknowledged(ASIDE_ID, 0x10);
  expect(published.map(topicOf)).toEqual(['t/1', 't/1', 't/2']);
  // Fixed header, topic, identifier and no properties.
  for (const packet of published) expect(packet).toHaveLength(2 + 2 + 3 + 2 + 1);
  expect(dictionary.isOver).toBe(true);
});

test('does not use a dictionary that was in flight when it had to be removed', () => {
  const { dictionary, sessions, pass } = dictionaryOf();
  pass(30);
  dictionary.forget();
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  expect(dictionary.hash).toBe('');
});

test('makes a dictionary that fits into a packet of the broker', () => {
  const { dictionary, sessions, published, state, pass } = dictionaryOf({ maximumPacketSize: 1000 });
  pass(30);
  expect(published).toHaveLength(1);
  expect(published[0].length).toBeLessThanOrEqual(1000);
  expect(published[0].length).toBeGreaterThan(900);
  sessions[1].aside.acknowledged(ASIDE_ID, 0);
  // The next broker accepts even less.
  for (const { aside } of sessions) aside.disconnected();
  dictionary.disconnected();
  for (const { aside, link } of sessions)
    aside.connected(/** @type {any} */ ({ ...link, maximumPacketSize: 500 }), 100, true);
  pass(120);
  expect(published).toHaveLength(2);
  expect(published[1].length).toBeLessThanOrEqual(500);
  expect(state.problems).toEqual([]);
});

test('ends a connection without acknowledgements, and treats a dictionary that the broker passes over as refused', () => {
  const { sessions, published, state, pass } = dictionaryOf();
  pass(30);
  const [, { aside }] = sessions;
  const sentAt = state.publishedAt;
  state.now = sentAt + 25000;
  expect(aside.deadMs(30000, sentAt - 1000)).toBe(0);
  state.now = sentAt + 30001;
  expect(aside.deadMs(30000, sentAt - 1000)).toBe(30001);
  expect(aside.deadMs(60000, sentAt - 1000)).toBe(0);
  expect(state.problems).toEqual([]);
  expect(aside.deadMs(30000, state.now)).toBe(0);
  expect(state.problems).toEqual(['DICTIONARY']);
  expect([aside.isReady, aside.deadMs(30000, sentAt)]).toEqual([false, 0]);
  pass(3700);
  expect(published.length).toBe(2);
  expect(aside.acknowledged(ASIDE_ID, 0)).toBe(true);
  expect(aside.isReady).toBe(true);
});

test('takes its place from the window of a broker with a small Receive Maximum', () => {
  const link = /** @type {any} */ ({
    protocolVersion: 5,
    retainAvailable: true,
    maximumQos: 2,
    receiveMaximum: 10
  });
  const aside = new Aside(
    () => {},
    () => 0
  );
  expect(aside.connected(link, 100, true).receiveMaximum).toBe(9);
  expect(aside.isReady).toBe(true);
  expect(aside.connected(link, 100, false).receiveMaximum).toBe(10);
  expect(aside.isReady).toBe(false);
  expect(aside.connected(link, 9, false).receiveMaximum).toBe(10);
  expect(aside.isReady).toBe(true);
  // Compression is switched on while the session is connected.
  aside.connected(link, 100, false);
  const window = {
    inflight: 10,
    limit: 10,
    setLimit: (/** @type {number} */ limit) => (window.limit = limit)
  };
  aside.wanted(window);
  expect([aside.isReady, window.limit]).toEqual([false, 9]);
  window.inflight = 9;
  aside.wanted(window);
  expect([aside.isReady, window.limit]).toEqual([true, 9]);
});
