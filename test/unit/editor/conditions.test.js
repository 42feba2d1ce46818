'use strict';
// The editor and the engine must agree on conditions: a random test compares what both say.

const { runPages } = require('../../fixtures/editor/dialogs');
const native = require('../../../native');

/** @type {{ ofCondition: (text: string) => string, ofPath: (text: string) => string }} */
let editor;
beforeAll(() => {
  runPages([], { RED: {}, $: () => {}, inspect: (window) => (editor = window.seganetConditions) });
});

const engine = (text) => native.checkConditions([text])?.reason ?? '';

const valid = [
  'value > 80',
  'state == "alarm"',
  'battery < 15 and rssi < -90',
  '$.sensors[0].temp >= 30.5',
  "not (a.b['c d'] != null or exists($.x)) and größe == 1e3",
  'payload <= -0.5e-3 or $ == "\\u00e4\\n\'" or s == \'it\\\'s "x"\'',
  '$.and == true and ((a < "😀"))'
];

test.each(valid)('both accept %s', (text) => {
  expect([engine(text), editor.ofCondition(text)]).toEqual(['', '']);
});

const long = (start, rest, count) => start + rest.repeat(count);

test.each([
  ['value >', 'column 8: expected a number or a string after >'],
  ['value = 3', 'column 7: use == to compare'],
  ['a > 3 && b > 3', 'column 7: use `and`'],
  ['größe > x', 'column 9: expected a number or a string after >'],
  ['"😀" == 1', 'column 1: expected a value of the payload, such as $.temp'],
  ['a == "😀', 'column 6: the string does not end'],
  [long('', '(', 17) + 'a==1' + long('', ')', 17), /^column 17: more than 16 parentheses/],
  [long('a==1', ' or a==1', 32), /more than 32 comparisons/],
  [long('exists(a', '.a', 16) + ')', /a path has at most 16 steps/],
  [long('exists(', 'ä', 129) + ')', 'column 8: a name has at most 256 bytes'],
  [long("a == '", 'ä', 510) + "'", 'longer than 1024 bytes'],
  ['a[65536] == 1', 'column 3: an index is at most 65535']
])('both refuse %s', (text, reason) => {
  expect(engine(text)).toMatch(reason);
  expect(editor.ofCondition(text)).toBe(engine(text));
});

test('both say the same of 10,000 mutated texts', () => {
  const tokens =
    `and or not exists true false null payload value a . .. .b [ ] [0] ['x'] ["y z"] ( ) == != < <= > >=
    = ! & | $ 0 -1 1.5 01 1e5 1e 'text' "text" "te\\n" "\\u00e4" "\\x" ' " \\ ä 😀 * + - _ 99999999999999999999`
      .split(/\s+/)
      .concat(' ', '\n', '\t');
  // A linear congruential generator, so that a failure can be repeated.
  const seed = Date.now() % 2147483647;
  let state = seed;
  const below = (n) => (state = (state * 48271) % 2147483647) % n;
  const pick = (list) => list[below(list.length)];
  const mutate = (text) => {
    const characters = [...text];
    const at = below(characters.length + 1);
    characters.splice(at, below(3), ...(below(4) ? [pick(tokens)] : []));
    return characters.join('');
  };
  let accepted = 0;
  for (let i = 0; i < 10000; i++) {
    let text = pick(valid);
    for (let changes = below(4); changes >= 0; changes--) text = mutate(text);
    const said = engine(text);
    const path = native.checkPath(text);
    const own = [editor.ofCondition(text), editor.ofPath(text)];
    if (own[0] === said && own[1] === path) accepted += said === '' ? 1 : 0;
    else expect({ seed, text, own }).toEqual({ seed, text, own: [said, path] });
  }
  expect(accepted).toBeGreaterThan(100);
});
