'use strict';

// The gateway's messages, as text and as lines of JSON.

const fs = require('fs');
const path = require('path');
const mqtt = require('mqtt');
const { startGateway } = require('./gateway');
const { run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);

describe('an entry', () => {
  const before = process.env.SEGANET_LOG_FORMAT;
  /** @type {string[]} */
  let lines;
  /** Each test loads it again, because it counts the messages that it has written. @type {typeof import('../../flows/launcher/log')} */
  let log;
  beforeEach(() => {
    lines = [];
    jest.useFakeTimers();
    for (const name of /** @type {const} */ (['log', 'error'])) {
      jest.spyOn(console, name).mockImplementation((line) => void lines.push(line));
    }
    jest.isolateModules(() => (log = require('../../flows/launcher/log')));
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
    if (before === undefined) delete process.env.SEGANET_LOG_FORMAT;
    else process.env.SEGANET_LOG_FORMAT = before;
  });
  const asJson = () => (process.env.SEGANET_LOG_FORMAT = 'json');
  const node = { type: 'function', id: 'f1', name: 'check' };

  test('is one line of JSON with time, level, message and node', () => {
    asJson();
    jest.setSystemTime(new Date('2026-11-22T10:00:00.250Z'));
    log.logLine({ level: 30, ...node, msg: 'two\nlines "quoted"' });
    log.logLine({ level: 20, msg: new Error('broken') });
    log.logLine({ level: 40, type: 'seganet-engine', id: 'e1', msg: 'The log is writable again.' });
    log.logLine({ level: 40, type: 'debug', id: 'd1', msg: { payload: 'of a record' } });
    log.say('uplink: connected');
    expect(lines.every((line) => !line.includes('\n'))).toBe(true);
    const time = '2026-11-22T10:00:00.250Z';
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { time, level: 'warning', message: 'two\nlines "quoted"', ...node },
      { time, level: 'error', message: 'broken' },
      { time, level: 'info', message: 'The log is writable again.', type: 'seganet-engine', id: 'e1' },
      { time, level: 'info', message: 'uplink: connected' }
    ]);
  });

  test.each([
    ['json', (/** @type {string} */ line) => JSON.parse(line).repeated],
    ['text', (/** @type {string} */ line) => Number(/And (\d+) more times/.exec(line)?.[1])]
  ])('that repeats is written at growing intervals, with a count: %s', (format, countOf) => {
    process.env.SEGANET_LOG_FORMAT = format;
    for (let second = 0; second < 3600; second++) {
      for (let i = 0; i < 10; i++) log.logLine({ level: 30, ...node, msg: 'too hot' });
      jest.advanceTimersByTime(1000);
    }
    expect(lines.map(countOf).slice(1)).toEqual([599, 1199, 2399, 4799, 9599]);
    // Another message of the node, and the same message of another node, are news.
    log.logLine({ level: 30, ...node, msg: 'too cold' });
    log.logLine({ level: 30, ...node, id: 'f2', msg: 'too hot' });
    log.logLine({ level: 20, ...node, msg: 'too hot' });
    expect(lines).toHaveLength(9);
  });

  test.each([
    ['Cannot reach mqtts://user:p4ss@broker.example:8883.', 'Cannot reach mqtts://…@broker.example:8883.'],
    ['http://a:b@c@host/x and ws://t0ken@host', 'http://…@host/x and ws://…@host'],
    ['mail me@example.org', 'mail me@example.org']
  ])('has no password of a URL: %s', (text, shown) => {
    asJson();
    log.logLine({ level: 20, ...node, msg: text });
    log.logLine({ level: 30, ...node, msg: { message: text } });
    expect(lines.map((line) => JSON.parse(line).message)).toEqual([shown, shown]);
  });

  test.each([
    ['a long text', 'x'.repeat(1e6)],
    ['a long text that looks like addresses', 'a://b@'.repeat(2e5)],
    ['a password at the cut', `${'x'.repeat(8180)}mqtt://user:p4ss@host`],
    ['a large object', { list: Array.from({ length: 1e5 }, (_, i) => `item ${i}`) }],
    ['an object without a prototype', Object.create(null)],
    ['nothing', undefined],
    ['a number', 7n],
    ['half a character', '\ud800']
  ])('is short and valid for %s', (_, msg) => {
    asJson();
    log.logLine({ level: 30, ...node, msg });
    expect(lines).toHaveLength(1);
    expect(lines[0].length).toBeLessThan(50000);
    const { message } = JSON.parse(lines[0]);
    expect(message.length).toBeLessThanOrEqual(8192);
    expect(message).not.toMatch(/p4ss/);
  });
});

/** @param {string} output @returns {any[]} */
const entries = (output) => output.trimEnd().split('\n').map((line) => JSON.parse(line)); // prettier-ignore

test('writes nothing but JSON lines, with one line for many warnings, and no payload', async () => {
  const { editor, gateway } = await startGateway({
    SEGANET_LOG_FORMAT: 'json',
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1'
  });
  const [, port] = await gateway.says(/MQTT listener on port (\d+)/);
  const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'd1' });
  // The cloud is away: the log has it.
  await device.publishAsync('d/d1/t', 'the secret payload', { qos: 1 });
  await device.endAsync(true);
  const flow = await (await fetch(`${editor}flows`)).json();
  const more = [
    { id: 'noise', type: 'function', z: 'seganet-tab', name: 'noise', func: 'return null;', outputs: 1, x: 1, y: 1, wires: [[]],
      initialize: 'for (let i = 0; i < 1000; i++) node.warn("too hot"); node.error("mqtt://u:p4ss@cloud");' } // prettier-ignore
  ];
  await fetch(`${editor}flows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'Node-RED-Deployment-Type': 'nodes' },
    body: JSON.stringify([...flow, ...more])
  });
  await gateway.says(/mqtt:\/\/…@cloud/);
  gateway.child.kill('SIGTERM');
  const { code, output } = await gateway.ended;
  expect(code).toBe(0);
  const all = entries(output);
  for (const entry of all) {
    expect(entry).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: expect.stringMatching(/^(info|warning|error)$/),
      message: expect.stringMatching(/./)
    });
  }
  const noise = all.filter(({ id }) => id === 'noise').map(({ level, message }) => [level, message]);
  expect(noise).toEqual([
    ['warning', 'too hot'],
    ['error', 'mqtt://…@cloud']
  ]);
  expect(output).not.toMatch(/secret payload|p4ss/);
}, 120000);

test('reports in JSON why it cannot start', async () => {
  const start = (/** @type {Record<string, string>} */ env) =>
    run(process.execPath, ['flows/launcher/start.js'], {
      env: cleanEnvironment({
        SEGANET_HOME: path.join(temporaryFolder(), 'home'),
        SEGANET_LOG_FORMAT: 'json',
        ...env
      })
    }).ended;
  const wrong = await start({ SEGANET_MQTT_PORT: 'many' });
  expect(wrong.code).toBe(78);
  expect(entries(wrong.output)).toMatchObject([
    { level: 'error', message: expect.stringMatching(/SEGANET_MQTT_PORT/) }
  ]);

  const home = temporaryFolder();
  fs.writeFileSync(path.join(home, 'gateway.json'), '{', { mode: 0o600 });
  fs.chmodSync(home, 0o700);
  const broken = await start({
    SEGANET_HOME: home,
    SEGANET_EDITOR_PORT: 'off',
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1'
  });
  expect(broken.code).toBe(78);
  expect(entries(broken.output).at(-1)).toMatchObject({
    level: 'error',
    message: expect.stringMatching(/cannot be read/)
  });

  const form = await start({ SEGANET_LOG_FORMAT: 'xml' });
  expect(form.code).toBe(78);
  expect(form.output).toMatch(/SEGANET_LOG_FORMAT .*text.*json/);
}, 120000);
