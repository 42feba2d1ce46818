'use strict';
// Encrypted backups: only the right passphrase opens them, age does so, too, and nothing changed comes out.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../../bench/harness/tools');
const { CHUNK, decrypt, encrypt, hasPassphrase } = require('../../../docker/tenants/lib/backup/passphrase');

const { test: withAge } = needs('age', 'script');

const PASSPHRASE = 'correct horse battery';
/** Quick, for tests. */
const LOG_N = 4;
/** Of the files of these tests: the header, and the nonce of the payload. */
const START = 149 + 16;

/** @param {AsyncIterable<Buffer>} source */
async function all(source) {
  const parts = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

/** @param {Buffer} bytes @param {number} [piece] */
async function* pieces(bytes, piece = 10_000) {
  for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
}

/** @param {Buffer} plain @param {number} [logN] */
const sealed = (plain, logN = LOG_N) => all(encrypt(pieces(plain), PASSPHRASE, logN));
/** @param {Buffer} bytes @param {string} [passphrase] @param {number} [piece] */
const opened = (bytes, passphrase = PASSPHRASE, piece = 10_000) =>
  all(decrypt(pieces(bytes, piece), passphrase));

test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17])(
  'restores %d bytes',
  async (size) => {
    const plain = crypto.randomBytes(size);
    const bytes = await sealed(plain);
    expect(hasPassphrase(bytes)).toBe(true);
    expect(bytes.length).toBe(START + size + 16 * Math.max(1, Math.ceil(size / CHUNK)));
    expect((await opened(bytes)).equals(plain)).toBe(true);
  }
);

test('reads a file in chunks of any size', async () => {
  const plain = crypto.randomBytes(CHUNK + 100);
  for (const logN of [LOG_N, 10]) {
    const bytes = await sealed(plain, logN);
    for (const piece of [1, 67, START, CHUNK + 16, 10 ** 6]) {
      expect((await opened(bytes, PASSPHRASE, piece)).equals(plain)).toBe(true);
    }
  }
});

test('refuses a wrong passphrase, and a header that is damaged anywhere', async () => {
  const bytes = await sealed(Buffer.from('x'));
  await expect(opened(bytes, 'another passphrase')).rejects.toThrow('the passphrase is wrong, or its header');
  await expect(opened(bytes, '')).rejects.toThrow(/it is encrypted. Name the file/);
  for (let at = 0; at < START - 16; at++) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    await expect(opened(changed)).rejects.toThrow('its header is damaged');
  }
});

test('refuses a header with bits behind a value, or with a second recipient', async () => {
  const text = (await sealed(Buffer.from('x'))).toString('latin1');
  const [, salt] = /scrypt (\S+) /.exec(text) ?? [];
  const last = String.fromCharCode(salt.charCodeAt(21) + 1);
  const stanza =
    '-> X25519 O6DLx/wDIawpUC978NSPjYvrfDtJVnZApXKp4FMPHCY\n3aKjozt9agh7jGmvOKvR4iax41Wl4zj95MKK4X9JuWc\n';
  for (const forged of [text.replace(salt, salt.slice(0, 21) + last), text.replace('---', `${stanza}---`)]) {
    await expect(opened(Buffer.from(forged, 'latin1'))).rejects.toThrow('its header is damaged');
  }
});

test('refuses a file with one byte changed anywhere behind its header', async () => {
  const bytes = await sealed(crypto.randomBytes(500));
  for (let at = START - 16; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 0x80;
    await expect(opened(changed)).rejects.toThrow(/damaged/);
  }
});

test('refuses a file that is cut short, longer, or in another order', async () => {
  const bytes = await sealed(crypto.randomBytes(3 * CHUNK));
  const chunkAt = (/** @type {number} */ i) => START + i * (CHUNK + 16);
  for (const size of [0, 5, 148, START - 1, START, START + 3, chunkAt(1), chunkAt(2), bytes.length - 1])
    await expect(opened(bytes.subarray(0, size))).rejects.toThrow(/cut short|damaged/);
  await expect(opened(Buffer.concat([bytes, Buffer.from([0])]))).rejects.toThrow(/damaged/);
  const chunk = (/** @type {number} */ i) => bytes.subarray(chunkAt(i), chunkAt(i + 1));
  const swapped = Buffer.concat([bytes.subarray(0, START), chunk(1), chunk(0), chunk(2)]);
  await expect(opened(swapped)).rejects.toThrow('it is damaged');
});

test('refuses a header that demands much memory, before it takes any', async () => {
  const text = (await sealed(Buffer.from('x'))).toString('latin1');
  for (const cost of ['19', '30', '99']) {
    const forged = Buffer.from(text.replace(/(scrypt \S+) 4\n/, `$1 ${cost}\n`), 'latin1');
    await expect(opened(forged)).rejects.toThrow('its header demands too much memory');
  }
  for (const cost of ['0', '04', '100', '-1', '4 '])
    await expect(
      opened(Buffer.from(text.replace(/(scrypt \S+) 4\n/, `$1 ${cost}\n`), 'latin1'))
    ).rejects.toThrow('its header is damaged');
});

withAge('is what age opens with the passphrase, and opens what age encrypts', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-age-'));
  try {
    const [plain, ours, theirs, out] = ['plain', 'ours', 'theirs', 'out'].map((name) =>
      path.join(folder, name)
    );
    // age reads a passphrase from a terminal only, which script is.
    const age = (/** @type {string} */ args, /** @type {string} */ typed) =>
      execFileSync('script', ['-qec', `age ${args}`, '/dev/null'], { input: typed, timeout: 30_000 });
    for (const size of [1, CHUNK, 2 * CHUNK + 17]) {
      const bytes = crypto.randomBytes(size);
      fs.writeFileSync(ours, await sealed(bytes, 10));
      age(`--decrypt --output ${out} ${ours}`, `${PASSPHRASE}\n`);
      expect(fs.readFileSync(out).equals(bytes)).toBe(true);
    }
    fs.writeFileSync(plain, crypto.randomBytes(CHUNK + 1));
    age(`--passphrase --output ${theirs} ${plain}`, `${PASSPHRASE}\n${PASSPHRASE}\n`);
    expect((await opened(fs.readFileSync(theirs))).equals(fs.readFileSync(plain))).toBe(true);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
