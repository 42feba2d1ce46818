'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ManagedThread } = require('../../../nodes/lib/base/managed-thread');

const WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
parentPort.postMessage({ started: workerData.number });
parentPort.on('message', ({ type }) => {
  if (type === 'throw') throw new Error('broken');
  if (type === 'exit') process.exit(7);
  if (type === 'stop') parentPort.close();
  if (type === 'hang') for (;;);
  if (type === 'echo') parentPort.postMessage({ echo: true });
});
`;

/** Collects messages and ends of a thread; next() resolves to the next of them. */
class Log {
  constructor() {
    /** @type {any[]} */
    this.entries = [];
    /** @type {(() => void) | null} */
    this.wake = null;
  }

  /** @param {any} entry */
  add(entry) {
    this.entries.push(entry);
    this.wake?.();
  }

  async next() {
    while (this.entries.length === 0) await new Promise((resolve) => (this.wake = () => resolve(undefined)));
    return this.entries.shift();
  }
}

describe('a managed thread', () => {
  /** @type {string} */
  let folder;
  /** @type {ManagedThread} */
  let thread;
  /** @type {Log} */
  let log;
  let number = 0;

  /** @param {Partial<import('../../../nodes/lib/base/managed-thread').ThreadParts>} [parts] */
  function start(parts = {}) {
    log = new Log();
    number = 0;
    thread = new ManagedThread({
      file: path.join(folder, 'worker.js'),
      name: 'test',
      workerData: () => ({ number: ++number }),
      onMessage: (message) => log.add(message),
      onExit: (cause, restartMs) => log.add({ cause, restartMs }),
      ...parts
    });
    thread.start();
  }

  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-thread-'));
    fs.writeFileSync(path.join(folder, 'worker.js'), WORKER);
  });

  afterEach(() => thread.stop({ type: 'stop' }, 0));

  afterAll(() => fs.rmSync(folder, { recursive: true }));

  test('posts what onStart posts, then other messages', async () => {
    start({ onStart: () => thread.post({ type: 'echo' }) });
    expect(await log.next()).toEqual({ started: 1 });
    expect(await log.next()).toEqual({ echo: true });
  });

  test('restarts within the first back-off step after an error, with new workerData', async () => {
    start({ restarts: true });
    await log.next();
    thread.post({ type: 'throw' });
    const { cause, restartMs } = await log.next();
    expect(cause).toBe('broken');
    expect(restartMs).toBeGreaterThanOrEqual(125);
    expect(restartMs).toBeLessThanOrEqual(250);
    expect(thread.isRunning).toBe(false);
    expect(await log.next()).toEqual({ started: 2 });
    expect(thread.isRunning).toBe(true);
  });

  test('doubles the restart delay until the thread is marked healthy', async () => {
    start({ restarts: true });
    await log.next();
    expect(thread.backoff.step).toBe(250);
    thread.post({ type: 'exit' });
    await log.next();
    expect(thread.backoff.step).toBe(500);
    await log.next();
    thread.markHealthy();
    expect(thread.backoff.step).toBe(250);
  });

  test('does not restart unless restarts is set, and discards messages meanwhile', async () => {
    start();
    await log.next();
    thread.post({ type: 'exit' });
    expect(await log.next()).toEqual({ cause: 'exit code 7', restartMs: -1 });
    thread.post({ type: 'echo' });
    expect(await thread.stop({ type: 'stop' }, 1000)).toBe(false);
  });

  test('stops when asked, without a restart', async () => {
    start({ restarts: true });
    await log.next();
    expect(await thread.stop({ type: 'stop' }, 10000)).toBe(true);
    expect(await log.next()).toEqual({ cause: 'exit code 0', restartMs: -1 });
  });

  test('terminates a thread that does not end within the limit', async () => {
    start({ restarts: true });
    await log.next();
    thread.post({ type: 'hang' });
    expect(await thread.stop({ type: 'stop' }, 50)).toBe(true);
    expect(await log.next()).toEqual({ cause: 'exit code 1', restartMs: -1 });
  });

  test('cancels a pending restart when it stops', async () => {
    start({ restarts: true });
    await log.next();
    thread.post({ type: 'exit' });
    const { restartMs } = await log.next();
    expect(await thread.stop({ type: 'stop' }, 0)).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, restartMs + 50));
    expect(number).toBe(1);
  });
});
