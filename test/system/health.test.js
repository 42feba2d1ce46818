'use strict';
// GET /seganet/healthz when a thread of the gateway no longer makes progress.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { needs } = require('../../bench/harness/tools');
const { startGateway } = require('../runtime/gateway');
const { ROOT, run, until, cleanUp } = require('../runtime/process');

const isRoot = process.getuid?.() === 0;
const { test } = needs('python3', ...(isRoot ? [] : ['root']));

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await cleanUp();
});

/** @param {number} tid @returns {Promise<() => void>} lets the thread continue */
async function holdThread(tid) {
  const script = path.join(__dirname, '..', 'fixtures', 'gateway', 'hold-thread.py');
  const child = spawn('python3', [script, String(tid)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const release = () => void child.kill('SIGKILL');
  ends.push(release);
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('exit', (code) => reject(new Error(`The thread was not stopped (${code}).`)));
  });
  return release;
}

test('answers 503 while a worker thread hangs, and 200 when it continues', async () => {
  const { editor } = await startGateway({ SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1', SEGANET_WORKERS: '2' });
  const health = async () => {
    const response = await fetch(`${editor}seganet/healthz`);
    return { status: response.status, ...(await response.json()) };
  };
  await until(async () => (await health()).status === 200, { what: 'a healthy gateway' });
  // It is healthy while it starts, too: the engine may not exist yet.
  const tid = await until(
    async () => {
      const response = await fetch(`${editor}seganet/engines/seganet-engine-1/stats`);
      return response.ok && (await response.json()).workers[1]?.tid;
    },
    { what: 'the second worker', within: 60000 }
  );
  const release = await holdThread(tid);
  const sick = await until(
    async () => {
      const body = await health();
      return body.status === 503 && body;
    },
    { what: 'an answer 503', within: 60000 }
  );
  expect(sick).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^1 of 2 worker threads made no progress for [1-6]\d s\.$/),
    checks: { eventLoop: { ok: true }, workers: { ok: false, count: 2 }, threads: { ok: true } }
  });
  const metrics = await (await fetch(`${editor}seganet/metrics`)).text();
  const [, silent] = /seganet_worker_silent_seconds\{[^}]*worker="1"\} (\S+)/.exec(metrics) ?? [];
  expect(Number(silent)).toBeGreaterThan(10);

  // What a container's health check runs.
  const check = () =>
    run(process.execPath, ['flows/launcher/health.js'], { cwd: ROOT, env: envOf(editor) }).ended;
  expect(await check()).toMatchObject({ code: 1, output: expect.stringMatching(/^1 of 2 worker threads/) });
  release();
  await until(async () => (await health()).status === 200, { what: 'a healthy gateway again' });
  expect(await check()).toMatchObject({ code: 0 });
}, 120000);

/** @param {string} editor */
function envOf(editor) {
  return { PATH: process.env.PATH, SEGANET_EDITOR_PORT: new URL(editor).port };
}
