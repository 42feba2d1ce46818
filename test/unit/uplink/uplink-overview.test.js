'use strict';

// The overview of an uplink of several sessions.

const { overview } = require('../../../nodes/lib/uplink/uplink-overview');

const zeros = {
  inflight: 0,
  backlogInflight: 0,
  redelivered: 0,
  failed: 0,
  deadLetters: 0,
  refusals: 0,
  connects: 1,
  bytesAcked: 1000
};

/** Sessions in these states, each as [state, code, reason]. */
function of(...sessions) {
  const classes = [[1, 2], [3, 5, 6], [8]]; // prettier-ignore
  return overview(
    sessions.map(([state, code = '', reason = '', more = {}], i) => ({
      group: i + 1,
      classes: classes[i],
      clientId: `g-${i + 1}`,
      everConnected: true,
      batchBytes: 1024,
      state,
      code,
      reason,
      rttMs: 10 * (i + 1),
      oldestMs: -1,
      quotaWait: 0,
      published: 1,
      acknowledged: 1,
      ...zeros,
      priority: -1,
      dscp: -1,
      localAddress: '',
      ...more
    }))
  );
}

test.each([
  [['connected', 'connected'], 'connected'],
  [['connected', 'connecting'], 'connecting'],
  [['stalled', 'connecting'], 'stalled'],
  [['reconnecting', 'stalled'], 'reconnecting'],
  [['reconnecting', 'disconnected'], 'disconnected'],
  [['disconnected', 'refused'], 'refused'],
  [['stopped', 'stopped'], 'stopped']
])('takes the worst of %j as %s', (states, worst) => {
  expect(of(...states.map((state) => [state])).state).toBe(worst);
});

test('names in the reason the classes that wait, when others do not', () => {
  expect(of(['connected'], ['disconnected', 'KEEPALIVE', 'No answer.']).reason).toBe(
    'Classes 3, 5–6 wait: No answer.'
  );
  expect(of(['connected'], ['connected'], ['disconnected', 'X', 'No.']).reason).toBe('Class 8 waits: No.');
});

test('names no classes for a problem of all sessions', () => {
  const no = ['disconnected', 'ECONNREFUSED', 'Nothing listens.'];
  expect(of(no, no)).toMatchObject({ code: 'ECONNREFUSED', reason: 'Nothing listens.' });
});

test('gives the advice of one session for one that never came up beside one that did, but not for a lost one', () => {
  const never = { everConnected: false };
  expect(of(['connected'], ['disconnected', 'CLOSED', 'Closed.', never]).reason).toMatch(/"Sessions: all"/);
  expect(of(['connected'], ['refused', 'CONNACK 133', 'No.']).reason).toMatch(/"Sessions: all"/);
  expect(of(['connected'], ['disconnected', 'CLOSED', 'Closed.']).reason).not.toMatch(/Sessions/);
  // The broker restarts: its port is closed for a moment.
  expect(of(['connected'], ['disconnected', 'ECONNREFUSED', 'No.', never]).reason).toBe(
    'Classes 3, 5–6 wait: No.'
  );
  expect(of(['disconnected', 'X', 'No.', never], ['refused', 'X', 'No.', never]).reason).toBe('No.');
});

test('shows temporary refusals by the broker though both are connected', () => {
  const later = { quotaWait: 900 };
  expect(of(['connected'], ['connected', 'PUBACK_151', 'Refused for now.', later])).toMatchObject({
    state: 'connected',
    code: 'PUBACK_151',
    reason: 'Classes 3, 5–6 wait: Refused for now.',
    quotaWait: 900
  });
});

test('sums counters, and takes the oldest age and the round trip of the most urgent', () => {
  const whole = of(
    ['connected', '', '', { oldestMs: 5, inflight: 2 }],
    ['connected', '', '', { oldestMs: 900, inflight: 3 }]
  );
  expect(whole).toMatchObject({ published: 2, acknowledged: 2, inflight: 5, oldestMs: 900, rttMs: 10 });
  expect(whole.sessions).toMatchObject([{ inflight: 2, rttMs: 10 }, { inflight: 3, rttMs: 20 }]); // prettier-ignore
});

test('says that alarms use one path while all sessions are connected, and counts the bytes of copies', () => {
  const session = {
    group: 1,
    classes: [1],
    clientId: 'g-a1',
    everConnected: true,
    state: 'connected',
    code: '',
    reason: '',
    rttMs: 1,
    oldestMs: -1,
    quotaWait: 0,
    published: 1,
    acknowledged: 1,
    ...zeros
  };
  /** @param {object} alarms @param {object} [more] */
  const shown = (alarms, more) =>
    overview(/** @type {any} */ ([{ ...session, ...more }]), {
      alarms: /** @type {any} */ ({ code: '', reason: '', bytesAcked: 500, ...alarms })
    });
  expect(shown({ state: 'connected' })).toMatchObject({ code: '', bytesAcked: 1500 });
  expect(shown({ state: 'connecting' })).toMatchObject({
    state: 'connected',
    code: 'ALARMS_ONE_PATH',
    reason: 'Alarms are sent over one path: the second session is connecting.'
  });
  expect(shown({ state: 'refused', reason: 'Not authorized.' }).reason).toBe(
    'Alarms are sent over one path: Not authorized.'
  );
  expect(shown({ state: 'refused', reason: 'No.' }, { state: 'disconnected', code: 'X' }).code).toBe('X');
});
