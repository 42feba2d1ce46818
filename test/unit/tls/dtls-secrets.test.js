'use strict';
// Certificates and keys of a DTLS listener, for the engine.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { DtlsSecrets } = require('../../../nodes/lib/tls');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));
const pskFile = path.join(folder, 'keys');
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** @param {string} text @param {number} [mode] */
const write = (text, mode = 0o600) => {
  fs.rmSync(pskFile, { force: true });
  fs.writeFileSync(pskFile, text);
  fs.chmodSync(pskFile, mode);
};
const make = () => new DtlsSecrets({ pskFile, clientCert: 'no', certIdentity: 'cn' });

test('reads identities and keys in the order of the file', () => {
  write(`# pumps\npump-1:${'01'.repeat(16)}\nurn:dev:2:${'02'.repeat(32)}\n`);
  expect(make().read()).toEqual({
    identities: ['pump-1', 'urn:dev:2'],
    keys: [Buffer.alloc(16, 1), Buffer.alloc(32, 2)],
    deviceCertificate: 'no',
    idFrom: 'cn'
  });
});

test('is due after a change of the file, and after a day', async () => {
  write(`pump-1:${'01'.repeat(16)}\n`);
  const secrets = make();
  const now = Date.now();
  secrets.read(now);
  expect(await secrets.areDue(now + 1000)).toBe(false);
  expect(await secrets.areDue(now + 86_400_000)).toBe(true);
  write(`pump-1:${'02'.repeat(16)}\n`);
  expect(await secrets.areDue(now + 1000)).toBe(true);
});

test('complains about a file that other users can read', () => {
  write(`pump-1:${'01'.repeat(16)}\n`, 0o640);
  expect(make().complaint()).toMatch(/chmod 600/);
  write(`pump-1:${'01'.repeat(16)}\n`, 0o600);
  expect(make().complaint()).toBe('');
  expect(new DtlsSecrets({ clientCert: 'no', certIdentity: 'cn' }).complaint()).toBe('');
});

test('throws a sentence for a missing file, a bad line and a listener without a key and a certificate', () => {
  write('pump-1:xyz\n');
  expect(() => make().read()).toThrow(/Line 1 of the file of pre-shared keys/);
  fs.rmSync(pskFile);
  expect(() => make().read()).toThrow(/cannot be read/);
  const none = new DtlsSecrets({ clientCert: 'no', certIdentity: 'cn' });
  expect(() => none.read()).toThrow(/has no certificate or no private key/);
});
