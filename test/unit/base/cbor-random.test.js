'use strict';
// The codec of CBOR with random values and bytes, compared with the package cbor.

const { isDeepStrictEqual } = require('node:util');
const cbor = require('cbor');
const {
  CborError,
  LIMITS,
  Simple,
  Tagged,
  decode,
  encode,
  problemOf
} = require('../../../nodes/lib/base/cbor');
const { seeded } = require('../../fixtures/random');

const SEED = Number(process.env.SEGANET_SEED ?? 1);

/** @param {() => unknown} run @returns {string} the message of its CborError, '' if it ends well */
function faultOf(run) {
  try {
    run();
    return '';
  } catch (error) {
    if (error instanceof CborError) return error.message;
    throw error;
  }
}

/** @param {() => unknown} run @returns {string} its value, or that it throws */
function outcome(run) {
  try {
    return JSON.stringify(plain(run()));
  } catch {
    return 'refused';
  }
}

/**
 * Draws values of all kinds.
 * @param {ReturnType<typeof seeded>} random
 * @param {boolean} isPlain without what the package cbor writes or reads in another form
 */
function drawer({ integer, bytes: drawBytes }, isPlain) {
  const float = () => drawBytes(8).readDoubleBE();
  const text = () => ['', 'a', 'é', '\u{1f600}', '\0', '\ufeff', '\ufffd'][integer(7)].repeat(integer(40));
  const scalars = [
    () => integer(2 ** 31) - integer(2 ** 31),
    () => (integer(2) ? 1 : -1) * (2 ** integer(54) - integer(2)),
    () => Math.fround(float()),
    float,
    () => integer(4096) / 64,
    text,
    () => [true, false, null, undefined][integer(4)],
    () => drawBytes(integer(300))
  ];
  const others = [
    () => (integer(2) ? 1n : -1n) * (BigInt(integer(2 ** 31)) << BigInt(24 + integer(100))),
    () => new Tagged(10 + integer(2 ** 31), integer(9)),
    () => new Simple(32 + integer(224))
  ];
  /** @param {number} depth @returns {unknown} */
  const draw = (depth) => {
    const kind = integer(depth > 0 ? 14 : 11);
    if (kind >= 11) {
      const some = Array.from({ length: integer(kind === 13 ? 30 : 6) }, () => draw(depth - 1));
      if (kind === 11) return some;
      if (kind === 12 && !isPlain) return new Map(some.map((each, i) => [i, each]));
      return Object.fromEntries(some.map((each, i) => [`${text()}${i}`, each]));
    }
    return kind >= 8 && !isPlain ? others[kind - 8]() : scalars[kind % 8]();
  };
  return draw;
}

describe(`random values (seed ${SEED})`, () => {
  test('come back, and pass the check of bounds', () => {
    const draw = drawer(seeded(SEED), false);
    for (let round = 0; round < 1500; round++) {
      const value = draw(4);
      const written = encode(value);
      const read = decode(written);
      // A bigint of the range of safe integers comes back as a number.
      const same = isDeepStrictEqual(read, value) || encode(read).equals(written);
      if (!same || problemOf(written) !== '') throw new Error(`round ${round}: ${written.toString('hex')}`);
      if (round >= 200) continue;
      for (let end = 0; end < Math.min(written.length, 400); end++)
        if (!/early|empty/.test(faultOf(() => decode(written.subarray(0, end)))))
          throw new Error(`round ${round}, ${end} bytes of ${written.toString('hex')}`);
    }
  });

  test('are written as by the package cbor, and read as by it', () => {
    const draw = drawer(seeded(SEED), true);
    for (let round = 0; round < 1000; round++) {
      const value = draw(3);
      const written = encode(value, { floats: 'single' });
      const theirs = cbor.encodeOne(value, /** @type {object} */ ({ highWaterMark: 1 << 24 }));
      const read = cbor.decodeFirstSync(encode(value), { preventDuplicateKeys: true });
      if (!written.equals(theirs) || !isDeepStrictEqual(read, decode(theirs)))
        throw new Error(`round ${round}: ${theirs.toString('hex')}`);
    }
  });

  test('with changed bytes are read as by the package cbor, or refused by both', () => {
    const random = seeded(SEED);
    const draw = drawer(random, true);
    let both = 0;
    for (let round = 0; round < 3000; round++) {
      const input = encode(draw(3)).subarray(0, 300);
      for (let n = random.integer(3); n > 0; n--) input[random.integer(input.length)] = random.integer(256);
      const read = outcome(() => decode(input));
      const theirs = outcome(() => cbor.decodeFirstSync(input, { preventDuplicateKeys: true }));
      // The package converts tags, and tells some errors of keys only at the end of the map.
      if (problemOf(input, LIMITS, { noTags: true, textKeys: true }) !== '') continue;
      if (read !== theirs)
        throw new Error(`round ${round}: ${input.toString('hex')}: ${read}, not ${theirs}`);
      if (read !== 'refused') both++;
    }
    expect(both).toBeGreaterThan(500);
  });

  test('of random bytes throw only a sentence, and pass the check while they are read', () => {
    const { integer, bytes: drawBytes } = seeded(SEED);
    for (let round = 0; round < 8000; round++) {
      const input = drawBytes(1 + integer(24));
      if (integer(2)) input[0] = [0xa1, 0x82, 0xbf, 0x9f, 0x7f, 0x5f, 0xc2, 0xf9][integer(8)];
      const fault = faultOf(() => decode(input));
      const problem = problemOf(input);
      if (problem ? fault === '' : !/^$|twice|bignum/.test(fault))
        throw new Error(`${input.toString('hex')}: ${problem} or ${fault}`);
    }
  });
});

/** With what JSON lacks as text. @param {any} value @returns {unknown} */
function plain(value) {
  if (typeof value === 'bigint' || typeof value === 'number')
    return Object.is(value, -0) ? '-0' : String(value);
  if (value === undefined) return 'undefined';
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(([key, each]) => [key, plain(each)]);
}
