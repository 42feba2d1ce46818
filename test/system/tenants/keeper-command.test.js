'use strict';
// The command: a keeper in a process of its own, with tenants that are processes.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const mqtt = require('mqtt');
const { eventually } = require('../../../bench/harness/net');
const { ask: askTenant } = require('../../fixtures/tenants/driver-suite');
const commands = require('../../fixtures/tenants/keeper-command');

const { MAIN, PROGRAM, WANT, add, api, endLater, environment, keep, run, socket, stateOf } = commands;

/** @type {string} */
let home;
beforeEach(() => {
  home = commands.open();
});
afterEach(commands.close);

test('adds, wakes, lists, sleeps and removes a tenant', async () => {
  expect(await add()).toMatchObject({ code: 0, out: 'added acme (process)\n' });
  const file = JSON.parse(fs.readFileSync(path.join(home, 'tenants', 'tenants.json'), 'utf8'));
  expect(file).toEqual({
    version: 1,
    tenants: [
      { name: 'acme', driver: 'process', command: [process.execPath, PROGRAM], http: 8080, idleMs: 600000 }
    ]
  });
  const { output } = await keep();
  expect(output()).toContain('not isolated');
  expect(fs.statSync(socket()).mode & 0o777).toBe(0o600);
  expect(fs.statSync(path.dirname(socket())).mode & 0o777).toBe(0o700);
  expect((await run('wake', 'acme')).out).toMatch(
    /^acme is ready after \d+ ms \(start\): 127\.[\d.]+:1883\n$/
  );
  const list = JSON.parse((await run('list', '--json')).out).tenants;
  expect(list).toEqual([
    expect.objectContaining({
      name: 'acme',
      state: 'running',
      isolated: false,
      leases: 0,
      port: 1883,
      backup: null
    })
  ]);
  expect(list[0].memoryBytes).toBeGreaterThan(5 << 20);
  expect((await run('list')).out).toMatch(
    /acme +process \(not isolated\) +running .* MiB .*operator, ready after/
  );
  expect((await run('check')).code).toBe(0);
  expect((await run('logs', 'acme', '--lines', '1')).out).toBe('tenant acme starts\n');
  expect(await run('sleep', 'acme')).toMatchObject({ code: 0, out: 'acme is stopped\n' });
  expect((await run('remove', 'acme')).out).toContain('kept');
  expect(fs.existsSync(path.join(home, 'tenants', 'volumes', 'acme'))).toBe(true);
  expect(JSON.parse((await run('list', '--json')).out).tenants).toEqual([]);
}, 60_000);

test('grants leases, and lets no tenant in use sleep', async () => {
  await add();
  await keep();
  const { status, body } = await api('POST', '/v1/tenants/acme/lease', WANT);
  expect(status).toBe(200);
  expect(body).toEqual({
    lease: expect.stringMatching(/^acme\./),
    host: expect.stringMatching(/^127\./),
    port: 1883,
    user: 'front',
    password: expect.stringMatching(/^[\w-]{32}$/),
    how: 'start',
    readyMs: expect.any(Number)
  });
  expect(await api('PUT', `/v1/leases/${body.lease}`)).toEqual({ status: 200, body: {} });
  expect(await run('sleep', 'acme')).toMatchObject({ code: 1, err: expect.stringContaining('in use') });
  expect((await api('POST', '/v1/tenants/acme/sleep', {})).status).toBe(409);
  expect(await api('DELETE', `/v1/leases/${body.lease}`)).toEqual({ status: 204, body: null });
  expect(await api('DELETE', `/v1/leases/${body.lease}`)).toMatchObject({
    status: 410,
    body: { code: 'gone' }
  });
  expect(await api('PUT', `/v1/leases/${body.lease}`)).toMatchObject({ status: 410 });
  expect((await api('POST', '/v1/tenants/other/lease', WANT)).status).toBe(404);
}, 60_000);

test('a keeper continues when its output cannot be written, and exits with code 0', async () => {
  await add();
  const full = fs.openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [MAIN, 'run'], {
    env: environment(),
    stdio: ['ignore', full, full]
  });
  fs.closeSync(full);
  endLater(child);
  await eventually(() => fs.existsSync(socket()) || child.exitCode !== null, { timeoutMs: 20_000 });
  expect((await run('wake', 'acme')).code).toBe(0);
  expect((await run('sleep', 'acme')).code).toBe(0);
  expect(child.exitCode).toBeNull();
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  await keep();
  const list = spawn('sh', ['-c', '"$0" "$1" list >/dev/full', process.execPath, MAIN], {
    env: environment()
  });
  expect(await new Promise((resolve) => list.once('close', resolve))).toBe(1);
}, 60_000);

test('streams events', async () => {
  await add();
  await keep();
  /** @type {any[]} */
  const events = [];
  const request = http.get({ socketPath: socket(), path: '/v1/events', agent: false }, (response) => {
    response.setEncoding('utf8').on('data', (text) => {
      for (const line of text.split('\n').filter(Boolean)) events.push(JSON.parse(line));
    });
  });
  request.on('error', () => {});
  await new Promise((resolve) => request.once('response', resolve));
  await api('POST', '/v1/tenants/acme/wake', {});
  await api('POST', '/v1/tenants/acme/sleep', { pause: true });
  await api('POST', '/v1/tenants/acme/sleep', {});
  await eventually(() => events.length >= 4);
  expect(events).toEqual([
    { at: expect.any(Number), tenant: 'acme', event: 'waking', by: 'operator', class: 8 },
    expect.objectContaining({ event: 'ready', by: 'operator', ms: expect.any(Number), how: 'start' }),
    expect.objectContaining({ event: 'paused' }),
    expect.objectContaining({ event: 'stopped', reason: 'asked' })
  ]);
  request.destroy();
}, 60_000);

test('tenants outlive a killed keeper, and the next one has them', async () => {
  await add();
  const first = await keep();
  const { host } = (await api('POST', '/v1/tenants/acme/lease', WANT)).body;
  const { pid } = await askTenant(host, 'who');
  first.child.kill('SIGKILL');
  await first.ended;
  expect((await askTenant(host, 'who')).pid).toBe(pid);
  await keep();
  await eventually(async () => (await stateOf()) === 'running');
  expect((await api('POST', '/v1/tenants/acme/lease', WANT)).body).toMatchObject({ how: 'running', host });
  process.kill(pid, 'SIGKILL');
  await eventually(async () => (await stateOf()) === 'stopped');
}, 60_000);

test('an orderly end leaves tenants running, or stops them if it shall', async () => {
  await add();
  const first = await keep();
  const { host } = (await api('POST', '/v1/tenants/acme/wake', {})).body;
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
  expect(await askTenant(host, 'hello')).toBe('hello');
  const second = await keep('--stop-tenants');
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  await expect(askTenant(host, 'hello')).rejects.toThrow('ECONNREFUSED');
}, 60_000);

test('more signals during an orderly end leave no tenant behind', async () => {
  // It takes some time to end.
  await add('--slow-end', '500');
  const { child, ended } = await keep('--stop-tenants');
  const { host } = (await api('POST', '/v1/tenants/acme/wake', {})).body;
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGINT'])) {
    child.kill(signal);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(await ended).toBe(0);
  await expect(askTenant(host, 'hello')).rejects.toThrow('ECONNREFUSED');
}, 60_000);

test('ends with its standard input, if it shall', async () => {
  await add();
  const { child, ended } = await keep('--stop-tenants', '--until-eof');
  const { host } = (await api('POST', '/v1/tenants/acme/wake', {})).body;
  child.stdin?.end();
  expect(await ended).toBe(0);
  await expect(askTenant(host, 'hello')).rejects.toThrow('ECONNREFUSED');
}, 60_000);

test('without a command a tenant is a gateway, which lets the front in with its password only', async () => {
  await run('add', 'acme');
  await keep();
  const { body } = await api('POST', '/v1/tenants/acme/lease', WANT);
  expect(body).toMatchObject({ how: 'start', user: 'front' });
  const { host, port, user: username, password } = body;
  const options = { host, port, username, reconnectPeriod: 0 };
  const front = await mqtt.connectAsync({ ...options, password });
  await front.endAsync();
  await expect(mqtt.connectAsync({ ...options, password: `${password}x` })).rejects.toThrow(/password/);
}, 60_000);

test('a tenant that crashes at its start is reported with its output', async () => {
  await add('--exit', '9');
  await keep();
  const { status, body } = await api('POST', '/v1/tenants/acme/lease', WANT);
  expect(status).toBe(503);
  expect(body).toMatchObject({ code: 'failed', error: expect.stringMatching(/code 9.*cannot run/) });
  expect(body.retryMs).toBeGreaterThan(0);
}, 60_000);

test('a wrong use ends with 2, a wrong file or variable with 78, a missing keeper with 1', async () => {
  for (const args of [
    [],
    ['flee'],
    ['list', 'x'],
    ['list', '--all'],
    ['wake'],
    ['manifest'],
    ['manifest', 'a', '--keeper'],
    ['add', 'A'],
    ['add', 'a', '--idle', 'x']
  ]) {
    expect((await run(...args)).code).toBe(2);
  }
  // It asks the engine for the image of this release.
  expect((await run('add', 'a', '--driver', 'docker')).code).toBe(1);
  expect(JSON.parse((await run('manifest', '--keeper')).out).items[1].kind).toBe('Role');
  expect(await run('list')).toMatchObject({ code: 1, err: expect.stringContaining('Start it with') });
  fs.mkdirSync(path.join(home, 'tenants'), { mode: 0o700 });
  fs.writeFileSync(
    path.join(home, 'tenants', 'tenants.json'),
    '{"version":1,"tenants":[{"name":"a","drvier":1}]}'
  );
  for (const command of ['run', 'check']) {
    expect(await run(command)).toMatchObject({ code: 78, err: expect.stringContaining("'drvier'") });
  }
  for (const args of [['--help'], ['help'], ['run', '--help'], ['help', 'add'], ['--version']]) {
    expect(await run(...args)).toMatchObject({ code: 0, err: '' });
  }
}, 60_000);

describe('hostile input', () => {
  /**
   * Sends bytes, and returns what comes back until the connection ends.
   * @param {string} text
   * @returns {Promise<string>}
   */
  const raw = (text) =>
    new Promise((resolve) => {
      let answer = '';
      const client = net.connect(socket(), () => client.write(text));
      client.on('data', (part) => {
        answer += part;
        if (/\r\n\r\n/.test(answer)) client.end();
      });
      client.on('error', () => {});
      client.once('close', () => resolve(answer));
    });

  test('gets an answer, and the keeper continues', async () => {
    await add();
    await keep();
    const lease = '/v1/tenants/acme/lease';
    /** @type {[string, string, object | string | undefined, number][]} */
    const rows = [
      ['GET', '/', undefined, 404],
      ['GET', '/v1/tenants/', undefined, 404],
      ['GET', '/v1/tenants/acme', undefined, 405],
      ['POST', '/v1/tenants', { name: 'x', template: 'none' }, 404],
      ['GET', '/v1/tenants/../../etc/passwd/logs', undefined, 404],
      ['GET', '/v1/tenants/%2e%2e/logs', undefined, 404],
      ['DELETE', '/v1/tenants', undefined, 405],
      ['GET', lease, undefined, 405],
      ['POST', '/v1/events', undefined, 404],
      ['POST', lease, '', 400],
      ['POST', lease, '{', 400],
      ['POST', lease, '[]', 400],
      ['POST', lease, 'null', 400],
      ['POST', lease, { ...WANT, reason: 'constructor' }, 400],
      ['POST', lease, { ...WANT, class: 0 }, 400],
      ['POST', lease, { ...WANT, class: 9 }, 400],
      ['POST', lease, { ...WANT, class: '1' }, 400],
      ['POST', lease, { ...WANT, holder: 'x'.repeat(129) }, 400],
      ['POST', lease, { ...WANT, image: 'evil' }, 400],
      ['POST', lease, 'x'.repeat(20_000), 400],
      ['POST', '/v1/tenants/constructor/wake', {}, 404],
      ['POST', '/v1/tenants/acme/sleep', { force: 'yes' }, 400],
      ['GET', '/v1/tenants/acme/logs?lines=1001', undefined, 400],
      ['GET', '/v1/tenants/acme/logs?lines=-1', undefined, 400],
      ['PUT', '/v1/leases/acme.x', undefined, 410],
      ['PUT', '/v1/leases/constructor', undefined, 410],
      ['PUT', `/v1/leases/${'x'.repeat(4000)}`, undefined, 410]
    ];
    for (const [method, url, body, status] of rows) {
      const answer = await api(method, url, body);
      expect([method, url, answer.status]).toEqual([method, url, status]);
      expect(answer.body).toEqual({ error: expect.any(String), code: expect.any(String) });
    }
    expect(await raw('nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400/);
    expect(await raw(`GET / HTTP/1.1\r\nx: ${'x'.repeat(9000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431/);
    expect(await stateOf()).not.toBe('running');
  }, 60_000);

  test('a slow request ends, and does not hold up others', async () => {
    await keep();
    const slow = raw('POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{');
    const half = raw('GET /v1/ten');
    expect((await api('GET', '/v1/tenants')).status).toBe(200);
    expect(await slow).toMatch(/408|^$/);
    expect(await half).toMatch(/408|^$/);
  }, 60_000);

  test('a file that becomes wrong changes nothing', async () => {
    await add();
    const keeper = await keep();
    fs.writeFileSync(path.join(home, 'tenants', 'tenants.json'), '{');
    expect(await api('POST', '/v1/reload')).toMatchObject({
      status: 500,
      body: { error: expect.stringContaining('JSON') }
    });
    expect((await api('POST', '/v1/tenants/acme/lease', WANT)).status).toBe(200);
    keeper.child.kill('SIGHUP');
    await eventually(() => /JSON/.test(keeper.output()));
    expect(keeper.child.exitCode).toBeNull();
    expect((await api('GET', '/v1/tenants')).body.tenants).toHaveLength(1);
    // Empty, and gone.
    const spoil = [(/** @type {string} */ file) => fs.writeFileSync(file, ''), fs.rmSync];
    for (const [index, error] of ['it is empty', 'it is missing'].entries()) {
      spoil[index](path.join(home, 'tenants', 'tenants.json'));
      expect(await api('POST', '/v1/reload')).toMatchObject({
        status: 500,
        body: { error: expect.stringContaining(error) }
      });
      expect(await stateOf()).toBe('running');
    }
    fs.writeFileSync(
      path.join(home, 'tenants', 'tenants.json'),
      JSON.stringify({ version: 1, tenants: [{ name: 'acme', driver: 'process' }] })
    );
  }, 60_000);
});

test('a client that disconnects returns its lease', async () => {
  await add('--delay', '700');
  await keep();
  const request = http.request({
    socketPath: socket(),
    method: 'POST',
    path: '/v1/tenants/acme/lease',
    agent: false
  });
  request.on('error', () => {});
  request.end(JSON.stringify(WANT));
  await eventually(async () => (await stateOf()) === 'starting');
  request.destroy();
  await eventually(async () => (await stateOf()) === 'running');
  expect((await api('GET', '/v1/tenants')).body.tenants[0].leases).toBe(0);
}, 60_000);
