'use strict';
// Encrypted backups: only the right passphrase opens them, and nothing changed comes out.

const crypto = require('node:crypto');
const { CHUNK, HEADER, decrypt, encrypt } = require('../../../docker/tenants/lib/backup/encryption');

const PASSPHRASE = 'correct horse battery';
/** Quick, for tests. */
const COST = { logN: 4, r: 8, p: 1 };

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

/** @param {Buffer} plain */
const sealed = (plain) => all(encrypt(pieces(plain), PASSPHRASE, COST));
/** @param {Buffer} bytes @param {string} [passphrase] @param {number} [piece] */
const opened = (bytes, passphrase = PASSPHRASE, piece = 10_000) =>
  all(decrypt(pieces(bytes, piece), passphrase));

test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17])(
  'restores %d bytes',
  async (size) => {
    const plain = crypto.randomBytes(size);
    const bytes = await sealed(plain);
    expect(bytes.length).toBe(HEADER + size + 16 * Math.max(1, Math.ceil(size / CHUNK)));
    expect((await opened(bytes)).equals(plain)).toBe(true);
  }
);

test('reads a file in chunks of any size', async () => {
  const plain = crypto.randomBytes(CHUNK + 100);
  const bytes = await sealed(plain);
  for (const piece of [1, 67, HEADER, CHUNK + 16, 10 ** 6]) {
    expect((await opened(bytes, PASSPHRASE, piece)).equals(plain)).toBe(true);
  }
});

test('distinguishes a wrong passphrase from a damaged file', async () => {
  const bytes = await sealed(Buffer.from('x'));
  await expect(opened(bytes, 'another passphrase')).rejects.toThrow('the passphrase is wrong');
  await expect(opened(bytes, '')).rejects.toThrow(/it is encrypted. Name the file/);
  for (const at of [9, 12, 20, 29]) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    await expect(opened(changed)).rejects.toThrow('its header is damaged');
  }
});

test('refuses a file with one byte changed anywhere behind its header', async () => {
  const bytes = await sealed(crypto.randomBytes(500));
  for (let at = HEADER; at < bytes.length; at += 37) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 0x80;
    await expect(opened(changed)).rejects.toThrow(/damaged/);
  }
});

test('refuses a file that is cut short, longer, or in another order', async () => {
  const bytes = await sealed(crypto.randomBytes(3 * CHUNK));
  const sizes = [
    0,
    5,
    HEADER - 1,
    HEADER,
    HEADER + 3,
    HEADER + CHUNK + 16,
    bytes.length - CHUNK - 16,
    bytes.length - 1
  ];
  for (const size of sizes)
    await expect(opened(bytes.subarray(0, size))).rejects.toThrow(/cut short|damaged/);
  await expect(opened(Buffer.concat([bytes, Buffer.from([0])]))).rejects.toThrow(/damaged/);
  const chunk = (/** @type {number} */ i) =>
    bytes.subarray(HEADER + i * (CHUNK + 16), HEADER + (i + 1) * (CHUNK + 16));
  const swapped = Buffer.concat([bytes.subarray(0, HEADER), chunk(1), chunk(0), chunk(2)]);
  await expect(opened(swapped)).rejects.toThrow('it is damaged');
});

test('refuses a header that demands much memory, before it takes any', async () => {
  const bytes = await sealed(Buffer.from('x'));
  for (const cost of [
    [1, 30, 8, 1],
    [1, 18, 16, 1],
    [1, 15, 8, 200],
    [1, 0, 8, 1]
  ]) {
    const changed = Buffer.from(bytes);
    changed.set(cost, 8);
    crypto.createHash('sha256').update(changed.subarray(0, 28)).digest().copy(changed, 28, 0, 8);
    await expect(opened(changed)).rejects.toThrow('its header demands too much memory');
  }
});
