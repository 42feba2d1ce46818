'use strict';
// The address and the password of a PostgreSQL store, and the client that the user installs.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const { once } = require('node:events');
const { generate } = require('selfsigned');
const { seeded } = require('../../fixtures/random');
const { isPostgresUrl, parsePostgresUrl, tlsOf } = require('../../../nodes/lib/postgres/url');
const { loadPg, passwordOf } = require('../../../nodes/lib/postgres/client');

test('an address names a host, a user and a database', () => {
  expect(parsePostgresUrl('postgres://ann@db.example/accounts')).toMatchObject({
    host: 'db.example',
    port: 5432,
    user: 'ann',
    database: 'accounts',
    mode: 'verify-full',
    isLocal: false,
    shown: 'postgres://ann@db.example:5432/accounts'
  });
  expect(parsePostgresUrl('POSTGRESQL://a%40b@[::1]:6000/x%2Dy?sslmode=require')).toMatchObject({
    host: '::1',
    port: 6000,
    user: 'a@b',
    mode: 'require',
    isLocal: true
  });
  expect(parsePostgresUrl('postgres:///ocf?host=/run/postgresql&user=ann')).toMatchObject({
    host: '/run/postgresql',
    user: 'ann',
    database: 'ocf',
    mode: 'disable',
    isLocal: true
  });
  expect(['postgres:', 'PostgreSQL://x', 'x.db', '/postgres', 'postgresx:'].map(isPostgresUrl)).toEqual([
    true,
    true,
    false,
    false,
    false
  ]);
});

test.each([
  ['mysql://ann@host/x', /such as/],
  ['postgres://', /such as|must name/],
  ['postgres://ann@host', /must name/],
  ['postgres://host/x', /must name/],
  ['postgres://ann@host/x/y', /must name/],
  ['postgres://ann@one,two/x', /must name|such as/],
  ['postgres://ann@host/x%00', /must name/],
  ['postgres://ann@host/%zz', /must name/],
  ['postgres://ann:hunter2@host/x', /must not contain the password/],
  ['postgres://ann@host/x?sslmode=prefer', /sslmode must be/],
  ['postgres://ann@host/x?password=hunter2', /not password/],
  ['postgres://ann@host/x?sslmode=require&sslmode=disable', /each once/]
])('refuses %s', (text, sentence) => {
  expect(() => parsePostgresUrl(text)).toThrow(sentence);
  expect(() => parsePostgresUrl(text)).not.toThrow(/hunter2/);
});

test('any text is an address, or a RangeError that does not show a password', () => {
  const seed = Number(process.env.SEGANET_SEED ?? Date.now() % 1e6);
  const { integer } = seeded(seed);
  const parts = [
    'postgres',
    '://',
    ':',
    '@',
    '/',
    '?',
    '&',
    '=',
    '%',
    '%00',
    '[',
    ']',
    '::1',
    'host',
    'ann',
    'hunter2'
  ];
  const more = ['sslmode', 'require', 'sslrootcert', '\0', ' ', '#', 'ü', '\ud800', '65536', ','];
  const all = [...parts, ...more];
  for (let i = 0; i < 20000; i++) {
    const length = integer(14);
    const tail = Array.from({ length }, () => all[integer(all.length)]).join('');
    const text = integer(4) === 0 ? tail : `postgres://ann:hunter2@${tail}`;
    try {
      const { host, user, database } = parsePostgresUrl(text);
      expect([host, user, database].every((each) => each.length > 0 && !each.includes('\0'))).toBe(true);
    } catch (error) {
      if (!(error instanceof RangeError))
        throw new Error(`seed ${seed}: ${JSON.stringify(text)}`, { cause: error });
      if (text.startsWith('postgres://ann:')) expect(error.message).not.toContain('hunter2');
    }
  }
});

test('TLS: another machine must show a valid certificate unless sslmode says otherwise', () => {
  const of = (text) => tlsOf(parsePostgresUrl(text));
  expect(of('postgres://a@db.example/x')).toEqual({
    host: 'db.example',
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true
  });
  expect(of('postgres://a@db.example/x?sslmode=require')).toMatchObject({ rejectUnauthorized: false });
  expect(of('postgres://a@db.example/x?sslmode=verify-ca').checkServerIdentity('x')).toBeUndefined();
  expect(of('postgres://a@127.0.0.1/x')).toBe(false);
  expect(() => of('postgres://a@db.example/x?sslrootcert=/none/ca.pem')).toThrow(/none/);
});

test.each([
  ['require', 'another', 'refused'],
  ['require', 'own', 'accepted'],
  ['verify-ca', 'another', 'refused'],
  ['verify-full', 'own', 'refused'],
  ['require', '', 'accepted']
])('TLS: sslmode=%s with the certificate authority "%s": the server is %s', async (mode, ca, expected) => {
  const [own, another] = await Promise.all(
    ['db.example', 'other.example'].map((value) =>
      generate([{ name: 'commonName', value }], {
        keySize: 2048,
        extensions: [{ name: 'basicConstraints', cA: true }]
      })
    )
  );
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ca-'));
  const file = path.join(directory, 'ca.pem');
  fs.writeFileSync(file, ca === 'own' ? own.cert : another.cert);
  const server = tls.createServer({ key: own.private, cert: own.cert }, (socket) => socket.end()).listen(0);
  try {
    await once(server, 'listening');
    const more = ca ? `&sslrootcert=${encodeURIComponent(file)}` : '';
    const address = parsePostgresUrl(`postgres://a@localhost/x?sslmode=${mode}${more}`);
    const client = tls.connect({ ...tlsOf(address), port: server.address().port });
    const outcome = await Promise.race([
      once(client, 'secureConnect').then(() => 'accepted'),
      once(client, 'close').then(() => 'closed')
    ]).catch(() => 'refused');
    client.destroy();
    expect(outcome).toBe(expected);
  } finally {
    server.close();
    fs.rmSync(directory, { recursive: true, force: true });
  }
});

test('the password comes from PGPASSWORD, else from the first line of PGPASSFILE that fits', () => {
  const address = parsePostgresUrl('postgres://ann@[::1]:5433/accounts');
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'pgpass-')), 'pgpass');
  const of = (lines, mode = 0o600) => {
    fs.writeFileSync(file, lines.join('\n'));
    fs.chmodSync(file, mode);
    return passwordOf(address, { PGPASSFILE: file });
  };
  expect(passwordOf(address, { PGPASSWORD: 'first', PGPASSFILE: file })).toBe('first');
  expect(passwordOf(address, { PGPASSFILE: '/none' })).toBe('');
  expect(of([])).toBe('');
  expect(of(['# *:*:*:*:comment', 'other:*:*:*:no', '*:*:accounts:ann:yes', '*:*:*:*:later'])).toBe('yes');
  expect(of(['\\:\\:1:5433:accounts:ann:p\\:a\\\\ss word'])).toBe('p:a\\ss word');
  expect(of(['*:5432:*:*:no', '*:*:*:bob:no', '*:*:x:*:no', 'short:line', '*:*:*:*:'])).toBe('');
  expect(of(['*:*:*:*:all\r', ''])).toBe('all');
  expect(of(['*:*:*:*:open to others'], 0o644)).toBe('');
});

test('a client that is missing, or does not load, is a sentence with the command', () => {
  const failing = (code, message) => () => {
    throw Object.assign(new Error(message), { code });
  };
  expect(() => loadPg(failing('MODULE_NOT_FOUND', "Cannot find module 'pg'"))).toThrow(
    /not installed.*npm install pg@8\.23\.1\.$/
  );
  expect(() => loadPg(failing('MODULE_NOT_FOUND', "Cannot find module 'pg-types'"))).toThrow(/does not load/);
  expect(loadPg().Client).toBeDefined();
  const { dependencies, optionalDependencies, devDependencies } = require('../../../package.json');
  expect([dependencies.pg, optionalDependencies?.pg, devDependencies.pg]).toEqual([
    undefined,
    undefined,
    '8.23.1'
  ]);
});
