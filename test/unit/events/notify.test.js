'use strict';
// Notifications to a real web server and a real mail server: rules, faults and floods.

const http = require('node:http');
const net = require('node:net');
const { eventually } = require('../../../bench/harness/net');
const { EventBook, EventStore } = require('../../../nodes/lib/events');
const { MAX_WAITING, Notifier } = require('../../../nodes/lib/events/notify/notifier');
const { checkTargets } = require('../../../nodes/lib/events/notify/check');
const { VERSION, transportOf } = require('../../../nodes/lib/events/notify/mail');
const { devDependencies } = require('../../../package.json');

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A web server that answers with these statuses, the last one again and again; 0 = not at all. */
async function receiver(...statuses) {
  const taken = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => (body += part));
    request.on('end', () => {
      taken.push({ body: JSON.parse(body), headers: request.headers });
      const status = statuses.length > 1 ? statuses.shift() : statuses[0];
      if (status) response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('thanks');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  cleanups.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));
  return { taken, url: `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}/hook` };
}

/** A mail server (RFC 5321) that knows one user. @param {string} [refusal] of the recipient */
async function mailServer(refusal) {
  const mails = [];
  const server = net.createServer((socket) => {
    let [rest, data] = ['', /** @type {string | null} */ (null)];
    const say = (line) => socket.write(`${line}\r\n`);
    const commands = {
      EHLO: () => say('250-test\r\n250 AUTH PLAIN'),
      AUTH: (line) =>
        say(Buffer.from(line.split(' ')[2], 'base64').toString() === '\0ada\0right' ? '235 ok' : '535 no'),
      MAIL: () => say('250 ok'),
      RCPT: () => say(refusal ?? '250 ok'),
      DATA: () => {
        data = '';
        say('354 go on');
      },
      QUIT: () => socket.end('221 bye\r\n')
    };
    say('220 test');
    socket.on('error', () => {});
    socket.setEncoding('utf8').on('data', (part) => {
      const lines = (rest + part).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (data === null) commands[line.slice(0, 4).toUpperCase()]?.(line);
        else if (line === '.') {
          mails.push(data);
          data = null;
          say('250 taken');
        } else data += `${line}\n`;
      }
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return { mails, smtp: `smtp://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}` };
}

const RULES = {
  url: '',
  secret: '',
  mail: null,
  severity: 'warning',
  kinds: [],
  quietMs: 300_000,
  ended: true,
  language: 'en-US'
};

/** A notifier of a book's events, whose back-off is the shortest. */
function start(options) {
  const warnings = [];
  const clock = { now: 0 };
  const context = {
    gateway: 'gw',
    warn: (sentence) => warnings.push(sentence),
    now: () => clock.now,
    random: () => 0
  };
  const notifier = new Notifier(/** @type {any} */ ({ ...RULES, ...options }), context);
  const book = new EventBook(new EventStore('', { warn: () => {} }));
  book.follow((event, change) => notifier.follow(event, change));
  cleanups.push(() => notifier.close());
  return { book, clock, notifier, warnings };
}
const uplink = { kind: 'uplink', engine: 'gw', subject: 'cloud', params: { reason: 'ECONNREFUSED' } };
const until = (condition) => eventually(condition, { timeoutMs: 8000, everyMs: 5 });
const mail = (smtp, password = 'right') => ({
  to: 'ops@example.org',
  from: 'gw@example.org',
  smtp,
  user: 'ada',
  password
});

test('posts begin and end as JSON, with the secret', async () => {
  const { url, taken } = await receiver(204);
  const { book } = start({ url, secret: 's3cret' });
  book.happens(uplink);
  book.ends(uplink);
  await until(() => taken.length === 2);
  const [{ body, headers }, second] = taken;
  expect(headers).toMatchObject({ authorization: 'Bearer s3cret', 'content-type': 'application/json' });
  expect(body).toEqual({
    gateway: 'gw',
    change: 'began',
    id: 1,
    kind: 'uplink',
    severity: 'error',
    subject: 'cloud',
    since: expect.any(Number),
    until: null,
    count: 1,
    acknowledged: null,
    sentence: 'The uplink cloud is not connected: ECONNREFUSED.'
  });
  expect(second.body).toMatchObject({ change: 'ended', until: expect.any(Number) });
  expect(second.body.sentence).toBe('Over: The uplink cloud is not connected: ECONNREFUSED.');
});

test('follows the rules: severity, kinds, quiet time, ends, language', async () => {
  const { url, taken } = await receiver(200);
  const { book, clock } = start({ url, kinds: ['uplink', 'restart'], ended: false, language: 'de' });
  book.happened({ kind: 'restart', subject: '', params: { version: '1' } });
  book.happens({ kind: 'device', subject: 'pump' });
  for (let i = 0; i < 5; i++) {
    book.happens(uplink);
    book.ends(uplink);
  }
  book.happens({ ...uplink, subject: 'other' });
  book.acknowledge(3, 'ada');
  clock.now += 300_000;
  book.happens(uplink);
  await until(() => taken.length === 3);
  expect(taken.map(({ body }) => [body.subject, body.change])).toEqual([
    ['cloud', 'began'],
    ['other', 'began'],
    ['cloud', 'again']
  ]);
  expect(taken[0].body.sentence).toBe('Der Uplink cloud ist nicht verbunden: ECONNREFUSED.');
});

test('tries again while the server fails, in order, and leaves out what it refuses', async () => {
  const { url, taken } = await receiver(503, 200, 404, 200);
  const { book, warnings } = start({ url });
  for (const subject of ['a', 'b', 'c']) book.happens({ ...uplink, subject });
  await until(() => taken.length === 4);
  expect(taken.map(({ body }) => body.subject)).toEqual(['a', 'a', 'b', 'c']);
  expect(warnings).toEqual([
    expect.stringMatching(/^The webhook at 127\.0\.0\.1:\d+ answers 503\. It is tried again\.$/),
    expect.stringMatching(/answers 404\. This notification is left out: The uplink b is not connected/)
  ]);
});

test('never follows a redirect with the secret', async () => {
  const { url, taken } = await receiver(307);
  const { book, warnings } = start({ url, secret: 's3cret' });
  book.happens(uplink);
  await until(() => warnings.length === 1);
  expect([taken.length, warnings[0]]).toEqual([1, expect.stringMatching(/cannot be reached/)]);
});

test('keeps the newest of a flood for a server that hangs, and ends at once', async () => {
  const { url, taken } = await receiver(0);
  const { book, notifier } = start({ url });
  for (let i = 0; i < 5 * MAX_WAITING; i++)
    book.happens({ kind: 'drops', engine: 'gw', subject: `s${i}`, params: {} });
  await until(() => taken.length === 1);
  notifier.close();
  book.happens(uplink);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(taken).toHaveLength(1);
});

test('says how many of a flood were left out', async () => {
  const { url, taken } = await receiver(200);
  const { book, warnings } = start({ url });
  for (let i = 0; i < MAX_WAITING + 51; i++)
    book.happens({ kind: 'drops', engine: 'gw', subject: `s${i}`, params: {} });
  await until(() => taken.length === MAX_WAITING + 1);
  expect(taken.at(-1)?.body.subject).toBe(`s${MAX_WAITING + 50}`);
  expect(warnings).toEqual(['50 notifications were left out, because too many waited.']);
});

test('sends a mail', async () => {
  const { smtp, mails } = await mailServer();
  const { book, warnings } = start({ mail: mail(smtp) });
  book.happens({ ...uplink, subject: 'cloud\r\nBcc: eve@example.org' });
  await until(() => mails.length === 1);
  expect(mails[0]).toMatch(/^To: ops@example\.org$/m);
  expect(mails[0]).toMatch(/^Subject: \[gw\] The uplink cloud Bcc: eve@example\.org/m);
  expect(mails[0]).not.toMatch(/^Bcc:/m);
  expect(mails[0]).toMatch(/severity: error/);
  expect(warnings).toEqual([]);
});

test.each([
  ['a wrong password', undefined, 'wrong', /answers 535\. This notification is left out/],
  ['a refused recipient', '550 no such user', 'right', /answers 550\. This notification is left out/]
])('gives up a mail with %s', async (_what, refusal, password, expected) => {
  const { smtp } = await mailServer(refusal);
  const { book, warnings } = start({ mail: mail(smtp, password) });
  book.happens(uplink);
  await until(() => warnings.length === 1);
  expect(warnings[0]).toMatch(expected);
});

test('says which package mails need', () => {
  const missing = () => {
    throw Object.assign(new Error("Cannot find module 'nodemailer'"), { code: 'MODULE_NOT_FOUND' });
  };
  expect(() => transportOf(mail('smtp://127.0.0.1:1'), missing)).toThrow(
    /^Mails need the package nodemailer: run "npm install (-g )?nodemailer@\d/
  );
  expect(VERSION).toBe(devDependencies.nodemailer);
});

test('asks a server outside this machine for TLS', () => {
  const [here, there] = ['smtp://127.0.0.1:25', 'smtp://mail.example.org:587'].map((smtp) =>
    transportOf(mail(smtp))
  );
  expect([here.options.requireTLS, there.options.requireTLS]).toEqual([false, true]);
});

test('tries the targets without sending anything', async () => {
  const { url, taken } = await receiver(200);
  const { smtp, mails } = await mailServer();
  expect(await checkTargets({ url, mail: mail(smtp) })).toMatchObject([
    { step: 'webhook', ok: true, text: expect.stringMatching(/can be reached\. Nothing was sent\.$/) },
    { step: 'mail', ok: true, text: expect.stringMatching(/can be used\. Nothing was sent\.$/) }
  ]);
  expect([taken, mails]).toEqual([[], []]);
  // A plain server under an https: address, and a port where nothing listens.
  expect(
    await checkTargets({ url: url.replace('http:', 'https:'), mail: mail('smtp://127.0.0.1:1') })
  ).toMatchObject([
    { step: 'webhook', ok: false, text: expect.stringMatching(/cannot be reached/) },
    {
      step: 'mail',
      ok: false,
      text: expect.stringMatching(/cannot be used \(ESOCKET|cannot be used \(ECONN/)
    }
  ]);
});
