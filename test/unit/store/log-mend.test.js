'use strict';
// What `seganet-log repair` recovers from a damaged chunk.

const { readChunk, writeChunk } = require('../../../nodes/lib/store/log-chunk');
const { mend } = require('../../../nodes/lib/store/cli/mend');

const EPOCH = 1806041088126729n;

/** @param {number} sequence @param {string | Buffer} text @param {object} [rest] */
const batch = (sequence, text, rest = {}) => ({
  sequence,
  bytes: Buffer.from(text),
  firstTs: 1000 + sequence,
  deviceBytes: 1,
  ...rest
});

/** A row of the table chunk. @param {object} [fields] @returns {any} */
const row = (fields) => ({ id: 1, node: 'n', class: 3, records: 4, ...fields });

/** @param {ReturnType<typeof mend>} mended @returns {number[]} the batches of the chunk that is kept, which is sound */
function kept(mended) {
  if (!mended.kept) return [];
  const { error, head, entries } = readChunk(mended.kept.body);
  expect(error).toBe('');
  expect(head?.records).toBe(mended.kept.records);
  return entries.map(({ sequence }) => Number(sequence));
}

describe('mend', () => {
  const four = [batch(1, 'aa'), batch(2, 'bbbb'), batch(3, 'cccccc'), batch(4, 'd')];
  const whole = writeChunk(3, EPOCH, four);
  const entries = readChunk(whole).entries;

  /** @param {number} at @returns {ReturnType<typeof mend>} of the chunk with this byte changed */
  function damaged(at, xor = 0x10) {
    const bytes = Buffer.from(whole);
    bytes[at] ^= xor;
    return mend(bytes, row());
  }

  test('leaves a sound chunk unchanged', () => {
    const mended = mend(whole, row());
    expect(mended).toMatchObject({ error: '', rest: null });
    expect(mended.kept?.body).toBe(whole);
    expect(mended.kept).toMatchObject({ class: 3, records: 4, firstTs: 1001, lastTs: 1004 });
  });

  test('keeps the other batches, and moves the damaged one aside with its bytes', () => {
    const mended = damaged(entries[1].end - 1);
    expect(mended.error).toBe('damaged batch');
    expect(kept(mended)).toEqual([1, 3, 4]);
    expect(mended.rest?.records).toBe(1);
    expect(mended.rest?.body.includes('bbb')).toBe(true);
    expect(mended.rest?.body.includes('cccccc')).toBe(false);
    expect(readChunk(/** @type {any} */ (mended.kept).body).head?.epoch).toBe(EPOCH);
  });

  test('finds the batches after one whose length is damaged, whichever byte of it', () => {
    for (let i = 0; i < 4; i++) {
      for (const xor of [1, 2, 0x80, 0xff]) {
        expect(kept(damaged(entries[1].at + 40 + i, xor))).toEqual([1, 3, 4]);
        expect(kept(damaged(entries[0].at + 40 + i, xor))).toEqual([2, 3, 4]);
        expect(kept(damaged(entries[3].at + 40 + i, xor))).toEqual([1, 2, 3]);
      }
    }
  });

  test('loses nothing when only the head is damaged', () => {
    for (let at = 0; at < 32; at++) {
      const mended = damaged(at);
      expect(kept(mended)).toEqual([1, 2, 3, 4]);
      expect(mended.rest).toBeNull();
      expect(mended.kept?.class).toBe(3);
    }
  });

  test('replaces an impossible epoch', () => {
    const mended = damaged(23, 0xff); // the highest byte of the epoch
    const epoch = readChunk(/** @type {any} */ (mended.kept).body).head?.epoch ?? 0n;
    expect(epoch).toBeGreaterThan(0n);
    expect(epoch).toBeLessThanOrEqual(BigInt(Number.MAX_SAFE_INTEGER));
  });

  test('recovers nothing from bytes without a record', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('SGC1'), Buffer.alloc(500, 0xa5)]) {
      const mended = mend(bytes, row());
      expect(mended.kept).toBeNull();
      expect(mended.rest).toEqual({ body: bytes, records: 4 });
    }
  });

  test('leaves a chunk of a newer version whole', () => {
    const bytes = Buffer.from(whole);
    bytes[4] = 2;
    bytes.writeUInt32LE(require('../../../nodes/lib/store/crc32c').crc32c(bytes, 0, 28), 28);
    expect(mend(bytes, row())).toEqual({
      error: 'of a newer version',
      kept: null,
      rest: { body: bytes, records: 4 }
    });
  });

  // A device chooses its payload. When the batch around it is damaged, the payload must not become a batch.
  test("does not take a device's payload for a batch", () => {
    const forged = writeChunk(3, EPOCH, [batch(666, 'x')]).subarray(32);
    for (const place of [0, 1, 2]) {
      const batches = [batch(1, 'aa'), batch(2, 'bb'), batch(3, 'cc')];
      batches[place] = batch(place + 1, Buffer.concat([Buffer.from('d'), forged]));
      const chunk = writeChunk(3, EPOCH, batches);
      const others = [1, 2, 3].filter((sequence) => sequence !== place + 1);
      const { at, end } = readChunk(chunk).entries[place];
      for (const byte of [at, at + 40, at + 41, at + 43, at + 52, at + 56, end - forged.length - 1]) {
        const bytes = Buffer.from(chunk);
        bytes[byte] ^= 0x21;
        expect(kept(mend(bytes, row({ records: 3 })))).toEqual(others);
      }
    }
  });

  test('takes little time for bytes that look like batches everywhere', () => {
    const fields = Buffer.alloc(56);
    fields.writeUInt32LE(1, 32);
    fields.writeUInt32LE(300_000, 40);
    const chunk = writeChunk(3, EPOCH, [batch(1, Buffer.concat(Array(20_000).fill(fields))), batch(2, 'b')]);
    chunk.writeUInt32LE(0xffffffff, 32 + 40);
    const start = process.cpuUsage().user;
    mend(chunk, row());
    // Without a limit it would take 20,000 times 300 kB: some 6 s.
    expect((process.cpuUsage().user - start) / 1e6).toBeLessThan(3);
  });
});
