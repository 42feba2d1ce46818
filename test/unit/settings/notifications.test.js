'use strict';

const { readNotifications } = require('../../../nodes/lib/settings/notifications');

const read = (config, credentials, env = {}) => readNotifications(config, credentials, env);

test('nobody is notified by default, and all silent devices are events', () => {
  expect(read({})).toEqual({ watchDevices: ['*'], notifications: null, problem: '' });
});

test('takes secrets from the credentials, else from the variables', () => {
  const config = { notifyUrl: 'https://example.org/hook' };
  const env = { SEGANET_NOTIFY_SECRET: 'env' };
  expect(read(config, {}, env).notifications?.secret).toBe('env');
  expect(read(config, { notifySecret: 'node' }, env).notifications?.secret).toBe('node');
});

test('reads lists', () => {
  const config = {
    watchDevices: 'pump-*, meter-7',
    notifyMailTo: 'a@example.org , b@example.org',
    notifyMailFrom: 'gw@example.org',
    notifySmtp: 'smtps://mail.example.org',
    notifyKinds: 'uplink, log',
    notifyEnded: 'no'
  };
  const { watchDevices, notifications } = read(config);
  expect(watchDevices).toEqual(['pump-*', 'meter-7']);
  expect(notifications).toMatchObject({
    mail: { to: 'a@example.org, b@example.org' },
    kinds: ['uplink', 'log'],
    quietMs: 300_000,
    ended: false
  });
  expect(read({ watchDevices: 'off' }).watchDevices).toEqual([]);
});

test.each([
  [{ notifyUrl: 'ftp://example.org' }, /"notifyUrl" must be an address such as https/],
  [{ notifyMailTo: 'ops@example.org' }, /need a sender and a mail server.*Set both/],
  [{ notifyMailTo: 'ops' }, /must be 1 to 20 mail addresses/],
  [{ notifyKinds: 'uplink,fire' }, /must be kinds of events/],
  [{ notifyQuietS: 'never' }, /must be a whole number from 0 to 86400/],
  [{ notifySmtp: 'mail.example.org' }, /must be smtp:\/\/HOST:PORT/],
  [{ watchDevices: Array(101).fill('x').join(',') }, /more than 100 globs/],
  [{ notifyUrl: 'https://' }, /"notifyUrl" must be/],
  [{ notifyUrl: 'http://[::bad/x' }, /not valid/]
])('refuses %j with a sentence, and notifies nobody', (config, expected) => {
  const { notifications, problem } = read(config);
  expect([notifications, problem]).toEqual([null, expect.stringMatching(expected)]);
});

test('sends a secret over the network only with TLS', () => {
  const secret = { notifySecret: 'x' };
  expect(read({ notifyUrl: 'http://example.org/hook' }, secret).problem).toMatch(/unencrypted/);
  expect(read({ notifyUrl: 'http://127.0.0.1/hook' }, secret).problem).toBe('');
});
