'use strict';
// The dialogs have the settings, defaults and limits of the table in nodes/lib/settings.

const { runPages } = require('../../fixtures/editor/dialogs');
const { initialOf, parserOf } = require('../../../nodes/lib/settings/rows');
const { TABLE } = require('../../../nodes/lib/settings/table');

/** Registers a node type as the editor would. */
function definitionOf(type) {
  const registered = {};
  const RED = {
    _: (key) => key,
    nodes: { registerType: (name, definition) => (registered[name] = definition) },
    events: { on: () => {} }
  };
  runPages([type], { RED, $: () => ({ length: 0, val: () => undefined }) });
  return registered[type];
}

describe.each(Object.entries(TABLE))('the dialog of %s', (type, rows) => {
  const { defaults, credentials = {} } = definitionOf(type);
  const settings = Object.entries(rows).filter(([name]) => !(name in credentials));
  const isGood = (name, value) => {
    const { validate } = defaults[name];
    // TLS and a login are on where another setting requires them.
    const node = { transport: 'tls', allowAnonymous: true, passwordFile: 'x', pskFile: 'x' };
    return (validate?.call(node, value, { label: name }) ?? true) === true;
  };
  /** Jest refuses an empty list. */
  const each = (list) => (list.length > 0 ? test.each(list) : () => {});
  const isParsed = (row, value) => {
    try {
      parserOf(row)(value);
      return true;
    } catch {
      return false;
    }
  };

  test('have the same settings', () => {
    const others = ['name', 'engine', 'version'];
    const names = Object.keys(defaults).filter((name) => !others.includes(name));
    expect(settings.map(([name]) => name).sort()).toEqual(names.sort());
  });

  test.each(settings)('%s has the same value in a new node', (name, row) => {
    const { value } = defaults[name];
    const first = initialOf(row);
    if (row.type === 'list') expect([...value]).toEqual([]);
    else expect(String(value)).toBe(String(first));
  });

  each(settings.filter(([, row]) => row.type === 'integer'))('%s has the same limits', (name, row) => {
    const { min, max } = row;
    for (const value of [min - 1, min, max, max + 1]) {
      expect([value, isGood(name, value)]).toEqual([value, value >= min && value <= max]);
      expect([value, isParsed(row, value)]).toEqual([value, value >= min && value <= max]);
    }
    expect(isGood(name, min + 0.5)).toBe(false);
  });

  each(settings.filter(([, row]) => row.type === 'choice'))('%s has the same choices', (name, row) => {
    for (const value of row.values) expect([value, isGood(name, value)]).toEqual([value, true]);
    for (const value of ['x', `${row.values[0]}x`, row.values[0].toUpperCase() + ' '])
      expect([value, isGood(name, value)]).toEqual([value, false]);
  });

  // The code of the node checks an address further, and the presence topic in bytes.
  const further = ['url', 'presenceTopic'];
  each(settings.filter(([name, { pattern }]) => pattern && !further.includes(name)))(
    '%s accepts the same texts',
    (name, row) => {
      const samples = ['a', 'a/b', 'a/', '/a', '$a', 'a+', 'a#', 'a{b}', 'a b', 'a?', 'a:1', '127.0.0.1'];
      const longest = [128, 129, 255, 256, 257, 1024, 1025, 4096].map((length) => 'x'.repeat(length));
      for (const value of [...samples, ...longest]) {
        const shown = `${value.slice(0, 12)} (${value.length})`;
        expect([shown, isGood(name, value)]).toEqual([shown, isParsed(row, value)]);
      }
    }
  );

  const byClass = settings.filter(([, row]) =>
    ['numbers', 'durations', 'weights', 'patience', 'cpus'].includes(row.type)
  );
  each(byClass)('%s accepts the same lists', (name, row) => {
    const parts = [
      '0',
      '0,1',
      '0,0,256,128',
      '0,0,7d,1d',
      '1-',
      '-1',
      '0,0,0,0,0,0,0,0',
      '0,0,0,0,0,0,0,0,0'
    ];
    for (const value of [
      ...parts,
      'x',
      '0;1',
      '0,1001',
      '0,3600000',
      '0,3600001',
      '1,1',
      '0,1,1,1,1,1,1,1',
      '0,1,1,1,1,1,1,1,1'
    ])
      if (row.type !== 'cpus' || !/^\d/.test(value))
        expect([value, isGood(name, value)]).toEqual([value, isParsed(row, value)]);
    if (row.type !== 'numbers') return;
    for (const value of [row.max, row.max + 1])
      expect([value, isGood(name, String(value))]).toEqual([value, isParsed(row, String(value))]);
  });
});
