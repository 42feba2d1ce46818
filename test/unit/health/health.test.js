'use strict';

const { liveness, readiness, LoopDelay, Heart } = require('../../../nodes/lib/health');

/** @param {object} [more] @returns {any} */
const engine = (more) => ({
  isRunning: true,
  hasPlan: true,
  workers: [100, 240],
  uplinkThreads: [300],
  logThread: 900,
  listeners: [true],
  stranded: 0,
  log: { state: 'ready', trouble: '' },
  uplinks: [uplink('connected', 'connected')],
  ...more
});
/** @param {string[]} states of its sessions */
const uplink = (...states) => ({
  state: states[0],
  sessions: states.map((state) => ({
    state,
    code: state === 'connected' ? '' : 'ECONNREFUSED',
    oldestMs: 7400
  }))
});

describe('readiness', () => {
  test('is ok when all is well, also without a log, an uplink and a listener', () => {
    expect(readiness([engine()])).toMatchObject({ ok: true, reason: '' });
    expect(readiness([engine({ replicas: 'replicated' }), engine()]).checks.replicas).toMatchObject({
      ok: true
    });
    const bare = engine({ log: null, uplinks: [], listeners: [] });
    expect(readiness([bare])).toMatchObject({
      ok: true,
      checks: { log: { state: 'none' }, uplink: { state: 'none' }, listeners: { open: 0, count: 0 } }
    });
  });

  test('has where an uplink with several URLs is, without a name', () => {
    const urls = [{ url: 'a.example:8883' }, { url: 'b.example:8883' }];
    const moved = {
      from: 'a.example:8883',
      to: 'b.example:8883',
      code: 'ECONNREFUSED',
      reason: 'a.example …'
    };
    const listed = engine({ uplinks: [{ ...uplink('connected'), url: 2, urls, failovers: 3, moved }] });
    const { ok, checks } = readiness([listed]);
    expect([ok, checks.uplink.urls]).toEqual([
      true,
      [{ active: 2, count: 2, failovers: 3, code: 'ECONNREFUSED' }]
    ]);
    expect(JSON.stringify(checks)).not.toContain('example');
    expect(readiness([engine()]).checks.uplink).not.toHaveProperty('urls');
  });

  test.each([
    [[], 'flows', 'The flow has no enabled engine.'],
    [[engine(), engine({ isRunning: false })], 'flows', '1 of 2 engines are not running: see their status.'],
    [[engine({ hasPlan: false })], 'flows', 'The flows are starting.'],
    [
      [engine({ listeners: [true, false, true] })],
      'listeners',
      '1 of 3 nodes do not accept devices: see their status.'
    ],
    [
      [engine({ log: { state: 'failing', trouble: 'disk full' } })],
      'log',
      'A log cannot be written: disk full.'
    ],
    [[engine({ log: { state: 'opening', trouble: '' } })], 'log', 'A log is being opened.'],
    [
      [engine({ standby: 'yes', hasPlan: false })],
      'standby',
      'The gateway is a standby: another one has the log of the pair.'
    ],
    [
      [engine({ standby: 'unknown', hasPlan: false })],
      'standby',
      'The database of the log cannot be reached.'
    ],
    [[engine({ isDraining: true })], 'listeners', 'The gateway hands its devices over to others.'],
    [
      [engine({ replicas: 'degraded' }), engine({ replicas: 'waiting' })],
      'replicas',
      'No record is acknowledged, because a cloud that must have it is missing.'
    ],
    [
      [engine({ replicas: 'degraded' }), engine({ replicas: 'replicated' })],
      'replicas',
      'Records are acknowledged from the disk of this machine alone, because a cloud is missing.'
    ],
    [[engine({ stranded: 1 })], 'uplink', 'An uplink node has no usable broker: see its status.'],
    [
      [engine({ uplinks: [uplink('connected', 'disconnected')] })],
      'uplink',
      'The uplink is not connected (ECONNREFUSED).'
    ],
    [[engine({ uplinks: [{ state: 'connecting' }] })], 'uplink', 'The uplink is connecting.'],
    [[engine({ uplinks: [{ state: 'stopped' }] })], 'uplink', 'The uplink is stopped.'],
    [
      [engine({ uplinks: [uplink('refused')] })],
      'uplink',
      'The broker or a setting refuses the uplink (ECONNREFUSED): see the status of the uplink node.'
    ],
    [
      [engine(), engine({ uplinks: [uplink('connected', 'stalled')] })],
      'uplink',
      'The uplink is stalled: it is connected, but the broker has not acknowledged the oldest record for 7 s.'
    ]
  ])('%# fails with a reason', (engines, failed, reason) => {
    const { ok, reason: said, checks } = readiness(engines);
    expect([ok, said]).toEqual([false, reason]);
    expect(checks[failed]).toMatchObject({ ok: false, reason });
    expect(Object.keys(checks).filter((name) => !checks[name].ok)).toEqual([failed]);
    expect(readiness(engines, [failed])).toMatchObject({ ok: true, reason: '' });
  });

  test('counts the sessions by state, and names the worst state', () => {
    const uplinks = [uplink('connected', 'stalled'), uplink('connected', 'reconnecting')];
    expect(readiness([engine({ uplinks })]).checks.uplink).toMatchObject({
      state: 'reconnecting',
      sessions: { connected: 2, stalled: 1, reconnecting: 1, refused: 0 }
    });
  });

  test('treats a state that it does not know as not connected', () => {
    expect(readiness([engine({ uplinks: [{ state: 'new' }] })])).toMatchObject({ ok: false });
  });

  test.each(['connect to 10.0.0.7', 'mqtt://user:pass@host', 'Econn', 'A'.repeat(60)])(
    'does not pass on %j as a code',
    (code) => {
      const { reason } = readiness([engine({ uplinks: [{ state: 'disconnected', code }] })]);
      expect(reason).toBe('The uplink is not connected.');
    }
  );

  test.each(['', 'Log', 'nothing', '__proto__'])('refuses to leave out %j', (name) => {
    expect(() => readiness([engine()], [name])).toThrow(
      /^exclude must name checks: flows, standby, listeners, log, replicas, uplink\.$/
    );
  });
});

describe('liveness', () => {
  test('is ok in an outage, with a full disk, and without an engine', () => {
    const sick = engine({
      uplinks: [uplink('disconnected')],
      log: { state: 'failing', trouble: 'disk full' }
    });
    expect(liveness([sick], 3)).toMatchObject({
      ok: true,
      checks: { eventLoop: { delayMs: 3 }, workers: { count: 2 }, threads: { count: 2 } }
    });
    expect(liveness([], 0)).toMatchObject({ ok: true, checks: { workers: { count: 0 } } });
    expect(liveness([engine({ isRunning: false, workers: [], uplinkThreads: [] })], 0).ok).toBe(true);
  });

  test('ignores threads that do not run yet', () => {
    const starting = engine({ workers: [-1], uplinkThreads: [-1], logThread: -1 });
    expect(liveness([starting], 0)).toMatchObject({ ok: true, checks: { threads: { count: 0 } } });
  });

  test.each([
    [{ workers: [100, 10001] }, '1 of 2 worker threads made no progress for 10 s.'],
    [{ uplinkThreads: [61000] }, '1 of 2 threads of uplinks and logs made no progress for 61 s.'],
    [{ logThread: 75000 }, '1 of 2 threads of uplinks and logs made no progress for 75 s.']
  ])('fails for %j', (more, reason) => {
    expect(liveness([engine(more)], 0)).toMatchObject({ ok: false, reason });
  });

  test.each([{ workers: [9999] }, { uplinkThreads: [59000], logThread: 59000 }])('waits for %j', (more) => {
    expect(liveness([engine(more)], 0).ok).toBe(true);
  });
});

describe('the delay of the event loop', () => {
  afterEach(() => jest.useRealTimers());

  test('is the longest of the last minute, and the present one', () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const loop = new LoopDelay();
    const pass = (/** @type {number} */ ms, /** @type {number} */ late = 0) => {
      now += ms + late;
      jest.advanceTimersByTime(ms);
    };
    pass(1000);
    expect(loop.maxMs).toBe(0);
    // Nothing else of this thread wants to be called each second.
    pass(3000, 2500);
    expect(loop.maxMs).toBe(2500);
    for (let look = 0; look < 19; look++) pass(3000, 10);
    expect(loop.maxMs).toBe(2500);
    pass(3000, 10);
    expect(loop.maxMs).toBe(10);
    now += 5000;
    expect(loop.maxMs).toBe(2000);
    loop.close();
    expect(loop.maxMs).toBe(10);
    expect(jest.getTimerCount()).toBe(0);
    clock.mockRestore();
  });
});

describe('the heartbeat', () => {
  const stats = /** @type {any} */ ({
    devices: 64,
    heldBytes: 16,
    budgetBytes: 64,
    heldRecords: [0, 1, 0, 7, 0, 0, 0, 0, 0],
    backlogRecords: [0, 0, 0, 5, 0, 0, 0, 0, 0],
    drops: { expired: [0, 2, 0, 0], noRoute: [5, 0, 0, 0] },
    placement: { workers: [{ busy: 0.25 }, { busy: 0.5004 }] },
    log: { state: 'ready', bytes: 1, limitBytes: 3, dead: 2 }
  });

  test('has these fields', () => {
    const heart = new Heart({ gateway: 'gw', version: '1.2.3' }, () => 1000);
    expect(heart.beat(engine(), stats, { recordsReceived: 640.2, recordsDelivered: 639.8 }, 12.4)).toEqual({
      gateway: 'gw',
      version: '1.2.3',
      ts: 1000,
      uptimeS: 12,
      ok: true,
      reason: '',
      lastProblem: null,
      uplink: 'connected',
      devices: 64,
      receivedPerS: 640.2,
      deliveredPerS: 639.8,
      inMemory: 8,
      backlog: 5,
      dropped: 7,
      memoryUsed: 0.25,
      busiestWorker: 0.5,
      log: { state: 'ready', used: 0.333, deadLetters: 2 }
    });
  });

  test('remembers a problem between two heartbeats, and when it was last seen', () => {
    let now = 1000;
    const heart = new Heart({ gateway: 'gw', version: '1' }, () => now);
    const down = engine({ uplinks: [uplink('disconnected')] });
    heart.look(engine());
    now = 2000;
    heart.look(down);
    now = 3000;
    heart.look(down);
    now = 4000;
    const later = heart.beat(engine(), { ...stats, log: null }, {}, 0);
    expect(later).toMatchObject({ ok: true, reason: '', log: null, receivedPerS: 0 });
    expect(later.lastProblem).toEqual({ ts: 3000, reason: 'The uplink is not connected (ECONNREFUSED).' });
    expect(heart.beat(down, stats, {}, 0)).toMatchObject({ ok: false, lastProblem: { ts: 4000 } });
  });
});
