'use strict';
// Every language has the texts of the English catalogs and help: same keys, placeholders, structure and terms.

const fs = require('node:fs');
const path = require('node:path');
const { runPages } = require('../../fixtures/editor/dialogs');
const pkg = require('../../../package.json');

const root = path.join(__dirname, '../../..');
const locales = path.join(root, 'nodes/locales');
const ENGLISH = 'en-US';
const types = Object.keys(pkg['node-red'].nodes);
const read = (...parts) => fs.readFileSync(path.join(locales, ...parts), 'utf8');
const filesOf = (language) => fs.readdirSync(path.join(locales, language)).sort();
const others = fs.readdirSync(locales).filter((language) => language !== ENGLISH);

/** Returns [key, text] pairs of a catalog; key: an array. */
function textsOf(catalog, above = []) {
  return Object.entries(catalog).flatMap(([name, value]) =>
    typeof value === 'string' ? [[[...above, name], value]] : textsOf(value, [...above, name])
  );
}

const catalogs = filesOf(ENGLISH).filter((name) => name.endsWith('.json'));
const helps = filesOf(ENGLISH).filter((name) => name.endsWith('.html'));
const sorted = (matches) => [...matches].map(([text]) => text).sort();

/** The parts of a text that no translation changes. */
const PLACEHOLDER = /__\w+__/g;
const TERM =
  /\$?\{\w*\}|\w+s?:\/\/[^\s,;)]+|\[\{.*\}\]|seganet-[a-z]+[a-z-]*|\bmsg\.\w+|\b\d+(?:\.\d+){3}\b|\b(?:TCP|TLS|MQTT|JSON|UUID|QoS|PUBACK|DSCP|SO_PRIORITY|IPv4|WebSocket)\b/g;

/** Words of English sentences that are no German words. A translated text contains none of them. */
const ENGLISH_WORDS =
  /(?<![\w.{/$-])(?:the|of|and|is|are|must|with|from|not|each|for|has|have|be|this|that|which|when|by|or|if|than|its|it|to|as|at|on|every|only|without|records?|devices?)(?![\w}/-])/gi;

/** Names of nodes, code and conditions, which a text may quote. */
const QUOTED =
  /[\w.$[\]]+ [<>=!]+ \S+(?: and [\w.]+ [<>=!]+ \S+)*|\b(?:mqtt|coap|http|ble) devices\b|(?:^|: )(?:envelope|records|on|off|live|limits|adaptive|safe|stored|received|slow|drop): |\bReport by Exception\b|\bRecords?\b(?=\W*$)|seganet-log .*$|\[\{.*\}\]|: \{.*\}/g;

describe.each(others)('the language %s', (language) => {
  test('has the files of the English texts, and no other', () => {
    expect(filesOf(language)).toEqual(filesOf(ENGLISH));
  });

  describe.each(catalogs)('%s', (name) => {
    const english = textsOf(JSON.parse(read(ENGLISH, name)));
    const translated = textsOf(JSON.parse(read(language, name)));
    const textOf = new Map(translated.map(([key, text]) => [key.join('.'), text]));
    const pairs = english.map(([key, text]) => [key.join('.'), text, textOf.get(key.join('.')) ?? '']);

    test('has the same keys in the same order', () => {
      expect(translated.map(([key]) => key)).toEqual(english.map(([key]) => key));
    });

    test('has the same placeholders and terms in each text', () => {
      for (const pattern of [PLACEHOLDER, TERM])
        for (const [key, text, other] of pairs)
          expect([key, sorted(other.matchAll(pattern))]).toEqual([key, sorted(text.matchAll(pattern))]);
    });

    test('has no empty text and no English one', () => {
      for (const [key, , text] of pairs) {
        expect([key, text.trim()]).not.toEqual([key, '']);
        expect([key, sorted(text.replace(QUOTED, ' ').matchAll(ENGLISH_WORDS))]).toEqual([key, []]);
      }
    });
  });

  describe.each(helps)('%s', (name) => {
    const english = read(ENGLISH, name);
    const translated = read(language, name);
    const label = (which) => JSON.parse(read(which, name.replace(/html$/, 'json'))).label;
    const plain = (html) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

    test('has the same headings, paragraphs and lists', () => {
      const blocks = (html) =>
        inOrder(
          html.matchAll(/<(\/?(?:script|p|h3|dl|dt|dd|ul|ol|li|pre|table|tr|td)\b(?: class="[\w-]+")?)/g)
        );
      expect(blocks(translated)).toEqual(blocks(english));
    });

    test('has the same code, property types and examples', () => {
      const terms = (html) =>
        new Set(
          sorted(
            html
              .replace(/\s+/g, ' ')
              .replaceAll(' >', '>')
              .matchAll(/<code>.*?<\/code>/g)
          )
        );
      expect([...terms(translated)]).toEqual([...terms(english)]);
      for (const tag of ['span', 'pre']) {
        const parts = (html) => inOrder(html.matchAll(new RegExp(`<${tag}[^]*?</${tag}>`, 'g')));
        expect(parts(translated)).toEqual(parts(english));
      }
      const marked = (html) => [...html.matchAll(/<strong>/g)].length;
      expect(marked(translated)).toBe(marked(english));
    });

    test('calls each setting what the dialog calls it', () => {
      const words = (text) =>
        text
          .replace(/\(.*|[,:].*| \d.*/, '')
          .toLowerCase()
          .match(/\p{L}{3,}/gu) ?? [];
      const strongs = (html) =>
        [...html.matchAll(/<strong>([^<]+)<\/strong>/g)].map(([, text]) => plain(text));
      const named = strongs(translated).join(' | ').toLowerCase();
      for (const [key, text] of Object.entries(label(ENGLISH))) {
        if (!strongs(english).includes(text.replace(/ \(.*| \d.*|, \w.*/, ''))) continue;
        // Case endings differ: "lokale Adresse", "der lokalen Adresse".
        for (const word of words(label(language)[key]))
          expect([key, word, named.includes(word.slice(0, Math.max(3, word.length - 1)))]).toEqual([
            key,
            word,
            true
          ]);
      }
    });

    test('has no English sentence', () => {
      const text = plain(translated.replace(/<(code|pre|span|dt)\b[^]*?<\/\1 ?>|<em>[^]*?<\/em>/g, ' '));
      expect(sorted(text.replace(QUOTED, ' ').matchAll(ENGLISH_WORDS))).toEqual([]);
    });
  });
});

/** In the order of the text. */
function inOrder(matches) {
  return [...matches].map(([text]) => text);
}

describe('the English catalogs', () => {
  const script = (...parts) => fs.readFileSync(path.join(root, 'nodes', ...parts), 'utf8');
  const plugins = ['editor', 'conditions', 'sources'].map((name) => script(`seganet-${name}.html`)).join('');

  /** True if the code has the key, or makes it from its group, such as t(`drop.${name}`) or 'label.' + name. */
  const isAsked = (code, key) => {
    const group = key.slice(0, key.lastIndexOf('.') + 1);
    const inCode = [`'${key}'`, `"${key}"`, `]${key}"`, `\`${key}\``];
    const made = [`\`${group}$\{`, `'${group}' +`, `'${group.slice(0, -1)}', `];
    return [...inCode, ...(group ? made : [])].some((text) => code.includes(text));
  };

  test.each(types)('%s has no text that nothing uses', (type) => {
    const definition = {};
    const RED = {
      _: (key) => key,
      nodes: { registerType: (_name, given) => Object.assign(definition, given) },
      events: { on: () => {} }
    };
    const { [type]: page } = runPages([type], { RED, $: () => ({ length: 0, val: () => undefined }) });
    const properties = [...Object.keys(definition.defaults), ...Object.keys(definition.credentials ?? {})];
    for (const [parts] of textsOf(JSON.parse(read(ENGLISH, `${type}.json`)))) {
      const key = parts.join('.');
      const isUsed =
        parts[0] === 'label'
          ? properties.includes(parts[1]) || page.includes(`label.${parts[1]}`)
          : isAsked(page + plugins, key);
      expect([key, isUsed]).toEqual([key, true]);
    }
  });

  test('of the connection test has no text that nothing uses', () => {
    const { test: texts, step } = JSON.parse(read(ENGLISH, 'seganet-connection-test.json'));
    const tests = [
      'uplink/session/test-steps',
      'uplink/session/connection-test',
      'kafka/cluster-test-worker',
      'events/notify/check'
    ]
      .map((name) => script('lib', `${name}.js`))
      .join('\n');
    const button = script('seganet-connection-test.html');
    for (const key of Object.keys(texts)) expect([key, isAsked(button, `test.${key}`)]).toEqual([key, true]);
    for (const key of Object.keys(step)) expect([key, tests.includes(`step('${key}'`)]).toEqual([key, true]);
  });

  test('of the status page has no text that nothing uses', () => {
    const modules = fs
      .readdirSync(path.join(root, 'nodes/lib/live/page'))
      .filter((name) => name.endsWith('.mjs'));
    const code = modules.map((name) => script('lib/live/page', name)).join('\n');
    for (const [parts] of textsOf(JSON.parse(read(ENGLISH, 'seganet-sidebar.json')))) {
      const key = parts.join('.');
      expect([key, isAsked(code, key)]).toEqual([key, true]);
    }
  });
});
