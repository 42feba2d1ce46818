'use strict';
// Wrong, odd and boundary values of settings.

/** Part of each secret that is entered: it must not appear in the output. */
const SECRET = 'S3CR3T-of-the-fuzzer';

const NUMBERS = [
  ...['0', '-1', '1', '2', '63', '64', '65', '100', '101', '1024', '65535', '65536', '1000000', '1000001'],
  ...['2147483647', '2147483648', '4294967295', '4294967296', '9007199254740993', '99999999999999999999'],
  ...['1e309', '-1e309', 'NaN', 'Infinity', '1.5', '0x10', '1e3', '007', '+1', ' 5 ', '1_000', '٣']
];
const TEXTS = [
  ...[
    '',
    ' ',
    '\t\n',
    'x',
    'true',
    'false',
    'null',
    'undefined',
    '[object Object]',
    '__proto__',
    'constructor'
  ],
  ...[
    'toString',
    'hasOwnProperty',
    '${MISSING}',
    '$(MISSING)',
    '${SEGANET_HOME}',
    '{device}',
    '{foo}',
    '{',
    '}'
  ],
  ...[
    'a/b',
    'a/#',
    '+',
    '#',
    '$SYS/x',
    '/',
    '//',
    '~',
    '~/x',
    '.',
    '..',
    'a b',
    'ä€😀',
    '\u202e',
    '\ufffe',
    '%s%n',
    ','
  ],
  ...[
    '1,2',
    '1-3',
    '3-1',
    '1,,2',
    '1/2',
    '7d',
    '0,8,4,1',
    'all',
    'auto',
    'off',
    'on',
    'yes',
    'no',
    '127.0.0.1',
    '::1'
  ],
  ...[
    '256.1.1.1',
    'localhost',
    'no-such-host.invalid',
    '192.0.2.77',
    'mqtt://127.0.0.1:1',
    'mqtts://127.0.0.1:1'
  ],
  ...['mqtt://127.0.0.1:0', 'mqtt://', 'http://x', 'mqtts://[::1', `mqtts://u:${SECRET}@127.0.0.1:1`],
  ...[
    `mqtts://u:${SECRET}/x@h:1`,
    'javascript:1',
    '/nonexistent/file',
    '/',
    '/dev/null',
    '/proc/self/mem',
    '/etc/passwd'
  ],
  ...['x'.repeat(129), 'x'.repeat(65536), '1,'.repeat(5000), '{'.repeat(1000)]
];
const JSONS = [
  ...[
    '[',
    '{}',
    '[null]',
    '[[]]',
    '[1]',
    '"x"',
    '[{}]',
    '[{"device":"*","class":9}]',
    '[{"topic":"a/#/b","class":1}]'
  ],
  ...['[{"__proto__":{"class":1}}]', '[{"device":"*","publish":"a#","subscribe":[1]}]', '['.repeat(5000)],
  ...[`[${'{"topic":"a","class":1},'.repeat(1001)}{"topic":"a","class":1}]`]
];
/** Properties may be of any JSON type; variables are text. */
const OTHERS = [
  ...[null, true, false, 0, -1, 1.5, 65536, 1e308, [], {}, [null], [[]], [1], ['x'], [{}], { length: 1 }],
  ...[[{ device: 5, class: {} }], [{ topic: [], class: 1 }], [{ url: {}, mode: 'observe' }]]
];

/** @typedef {ReturnType<typeof import('../../fixtures/random').seeded>} Random */

/** @template T @param {Random} random @param {readonly T[]} list @returns {T} */
const pick = (random, list) => list[random.integer(list.length)];

/** @param {Random} random @returns {string} */
function oddText(random) {
  const kind = random.integer(10);
  if (kind < 4) return pick(random, NUMBERS);
  if (kind < 8) return pick(random, TEXTS);
  return kind < 9 ? pick(random, JSONS) : random.bytes(1 + random.integer(40)).toString('latin1');
}

/** @param {Random} random @returns {unknown} */
function oddValue(random) {
  return random.integer(4) === 0 ? pick(random, OTHERS) : oddText(random);
}

/** @param {Random} random @returns {string} text that an environment can hold */
const oddVariable = (random) => oddText(random).replaceAll('\0', '').slice(0, 100000);

/** @param {unknown} value */
function brief(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 120)}… (${text.length} characters)` : text;
}

module.exports = { SECRET, pick, oddValue, oddVariable, brief };
