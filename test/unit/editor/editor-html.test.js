'use strict';
// Runs the script of each node's html with a stub of the editor, and checks the visible result.

const fs = require('node:fs');
const path = require('node:path');
const { runPages } = require('../../fixtures/editor/dialogs');
const pkg = require('../../../package.json');

const nodesDir = path.join(__dirname, '../../../nodes');
const examplesDir = path.join(__dirname, '../../../examples');
const types = Object.keys(pkg['node-red'].nodes);
const read = (...parts) => fs.readFileSync(path.join(nodesDir, ...parts), 'utf8');
const catalogOf = (type) => JSON.parse(read('locales/en-US', `${type}.json`));

/** The string of a key such as label.port, undefined when there is none. */
const lookUp = (catalog, key) => key.split('.').reduce((at, part) => at?.[part], catalog);

/**
 * Registers a node type as the editor would. Keys that were asked for are collected.
 * @param {string} type @param {boolean} [pluginLast]
 */
function register(type, pluginLast = false) {
  const prefix = `${pkg.name}/${type}:`;
  const keys = [];
  const registered = {};
  const noField = { length: 0, val: () => undefined };
  const RED = {
    _: (key, values = {}) => {
      keys.push(key);
      const text = lookUp(catalogOf(type), key.slice(prefix.length)) ?? '';
      return text.replace(/__(\w+)__/g, (_whole, name) => String(values[name]));
    },
    nodes: { registerType: (name, definition) => (registered[name] = definition) },
    events: { on: () => {} },
    utils: { validatePropertyExpression: (text) => /^[\w.[\]'"]+$/.test(text) }
  };
  const { [type]: html } = runPages([type], { RED, $: () => noField, pluginLast });
  return { html, keys, prefix, definition: registered[type] };
}

const pages = Object.fromEntries(types.map((type) => [type, register(type)]));
const visible = types.filter((type) => pages[type].definition.category !== 'config');

/** Properties without a validator, and the reason. */
const unchecked = {
  name: 'any text is a name',
  engine: 'the editor checks it',
  pagesTls: 'the editor checks it',
  servicesTls: 'the editor checks it',
  broker: 'the editor checks it',
  cluster: 'the editor checks it',
  tls: 'the editor checks it',
  overlay: 'the editor checks it',
  httpTls: 'the editor checks it'
};

/** Properties that an editable list edits. */
const lists = ['rules', 'devices', 'permissions', 'characteristics', 'resources'];
/** Properties that the user does not edit. */
const hidden = ['version'];

describe.each(types)('%s', (type) => {
  const { html, keys, prefix, definition } = pages[type];
  const catalog = catalogOf(type);
  const field = definition.category === 'config' ? 'node-config-input' : 'node-input';

  test('gives each property a value, a label, and a validator that can return a reason', () => {
    for (const [name, property] of Object.entries(definition.defaults)) {
      expect([name, 'value' in property]).toEqual([name, true]);
      expect([name, property.label || 'no label']).toEqual([name, lookUp(catalog, `label.${name}`)]);
      if (name in unchecked) continue;
      // The editor takes a string for a reason only from a validator with two parameters.
      expect([name, property.validate?.length]).toEqual([name, 2]);
      expect([name, property.validate.call(definition, property.value, { label: 'x' })]).toEqual([
        name,
        ['url', 'brokers'].includes(name) ? expect.any(String) : true
      ]);
    }
  });

  test('makes each property editable and uses no reserved name', () => {
    for (const name of [...Object.keys(definition.defaults), ...Object.keys(definition.credentials ?? {})]) {
      if (![...lists, ...hidden].includes(name)) expect(html).toContain(`id="${field}-${name}"`);
      expect(name).not.toMatch(/^(.|id|type|wires|inputs|outputs|info|icon|valid|changed)$/);
    }
    const shared = Object.keys(definition.credentials ?? {}).filter((name) => name in definition.defaults);
    expect(shared).toEqual([]);
  });

  test('has each string that the page requests in the catalog', () => {
    const inTemplate = [...html.matchAll(/data-i18n="(?:\[\w+\])?([^"]+)"/g)].map(([, key]) => key);
    const inScript = [...html.matchAll(/\bt\('([^']+)'/g)]
      .map(([, key]) => key)
      .filter((key) => !key.endsWith('.'));
    const asked = keys.map((full) => full.slice(prefix.length));
    for (const key of [...asked, ...inTemplate, ...inScript]) {
      expect([key, typeof lookUp(catalog, key)]).toEqual([key, 'string']);
    }
    expect(keys.every((key) => key.startsWith(prefix))).toBe(true);
  });

  test('finds each reason of its validators in the catalogue', () => {
    const before = keys.length;
    const texts = ['', ' ', '-1', 'x', 'a b', '#', '/', '{x}', '{', '{}', '[]', '[{}]', 'x'.repeat(300)];
    const rows = [{}, [{}], [{ device: 'a' }], [{ topic: '#a' }]];
    const node = { host: '0.0.0.0', version: 2 };
    for (const { value: usual, validate } of Object.values(definition.defaults))
      for (const value of Array.isArray(usual) ? rows : texts) validate?.call(node, value, { label: 'x' });
    const asked = new Set(keys.splice(before).map((full) => full.slice(prefix.length)));
    expect([...asked].filter((key) => typeof lookUp(catalog, key) !== 'string')).toEqual([]);
  });

  test('registers the same definition whether the shared plugins load before or after the page', () => {
    const { html: later, definition: late } = register(type, true);
    expect(later).toBe(html);
    expect(Object.keys(late.defaults)).toEqual(Object.keys(definition.defaults));
    expect(html).not.toMatch(/data-(row|list)=/);
  });

  test('explains inputs and outputs in the help', () => {
    const help = read('locales/en-US', `${type}.html`);
    expect(help).toContain(`data-help-name="${type}"`);
    expect(help.trim()).toMatch(/^<script[^>]*>\s*<p>/);
    expect(help.includes('<h3>Inputs</h3>')).toBe(definition.inputs === 1);
    expect(help.includes('<h3>Outputs</h3>')).toBe((definition.outputs ?? 0) > 0);
    expect(help).toContain('<h3>Details</h3>');
  });

  test('has the look of its palette, or is a config node', () => {
    if (!visible.includes(type)) return;
    expect(definition.category).toBe('seganet');
    expect(fs.existsSync(path.join(nodesDir, 'icons', definition.icon))).toBe(true);
    expect(definition.color).toMatch(/^#[0-9A-F]{6}$/);
    // Mid tones are visible on a white and on a black canvas.
    const luma = [1, 3, 5].reduce((sum, at) => sum + parseInt(definition.color.slice(at, at + 2), 16), 0) / 3;
    expect(luma).toBeGreaterThan(110);
    expect(luma).toBeLessThan(190);
    expect(Boolean(definition.inputLabels)).toBe(definition.inputs > 0);
    expect(Boolean(definition.outputLabels)).toBe(definition.outputs > 0);
  });
});

describe('the icons', () => {
  const files = fs.readdirSync(path.join(nodesDir, 'icons')).sort();

  test('are one for each node of the palette', () => {
    expect(visible.map((type) => pages[type].definition.icon).sort()).toEqual(files);
  });

  test.each(files)('%s has the size, the color and the line of the others', (name) => {
    const svg = read('icons', name);
    expect(svg).toMatch(/^<svg width="40" height="60" viewBox="0 0 40 60" /);
    expect(svg).toContain('<g fill="none" stroke="#fff" stroke-width="2.5" ');
    // Node-RED lays the white icon over the color of the node.
    const colors = [...svg.matchAll(/(?:fill|stroke)="([^"]+)"/g)].map(([, color]) => color);
    expect(colors.filter((color) => !['none', '#fff'].includes(color))).toEqual([]);
  });
});

const flows = fs
  .readdirSync(examplesDir, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.json'));
const examples = flows.map((name) => [
  name,
  JSON.parse(fs.readFileSync(path.join(examplesDir, name), 'utf8'))
]);

test.each(types)('uses %s in an example', (type) => {
  expect(examples.some(([, flow]) => flow.some((item) => item.type === type))).toBe(true);
});

describe.each(examples)('example %s', (_name, flow) => {
  const byId = new Map(flow.map((item) => [item.id, item]));

  test('has a tab, one more at most that simulates the outside world, comments, and unique ids', () => {
    expect(byId.size).toBe(flow.length);
    const tabs = flow.filter(({ type }) => type === 'tab');
    expect(tabs.length).toBeGreaterThanOrEqual(1);
    expect(tabs.slice(1).filter(({ label }) => !/^Simulated /.test(label))).toEqual([]);
    expect(flow.some(({ type }) => type === 'comment')).toBe(true);
  });

  test('connects its wires and config nodes to nodes of the flow', () => {
    // The broker of core's mqtt-broker is an address.
    for (const item of flow.filter(({ type }) => type !== 'mqtt-broker')) {
      for (const target of [...(item.wires ?? []).flat(), item.engine, item.broker, item.tls].filter(
        Boolean
      )) {
        expect([item.id, target, byId.has(target)]).toEqual([item.id, target, true]);
      }
    }
  });

  test('gives its seganet nodes exactly the properties of their type, all valid', () => {
    for (const item of flow.filter(({ type }) => type in pages)) {
      const { defaults, category } = pages[item.type].definition;
      const { id, type, z, x, y, wires, g, credentials, ...properties } = item;
      expect(Object.keys(credentials ?? {}).every((name) => name in pages[type].definition.credentials)).toBe(
        true
      );
      expect(g === undefined || byId.get(g)?.nodes.includes(id)).toBe(true);
      expect([id, Object.keys(properties).sort()]).toEqual([id, Object.keys(defaults).sort()]);
      expect([id, x !== undefined && y !== undefined && Boolean(z)]).toEqual([id, category !== 'config']);
      for (const [name, value] of Object.entries(properties)) {
        // The editor does not validate a reference to an environment variable.
        if (/^\$\{[A-Z_]+\}$/.test(value)) continue;
        const verdict = defaults[name].validate?.call(item, value, { label: name }) ?? true;
        expect([type, name, verdict]).toEqual([type, name, true]);
      }
      expect(Array.isArray(wires)).toBe(category !== 'config');
    }
  });
});

describe('validators return reasons', () => {
  const verdict = (type, name, value, node = {}) =>
    pages[type].definition.defaults[name].validate.call(node, value, { label: name });

  test.each([
    ['seganet-engine', 'workers', '65', 'workers must be a whole number from 0 to 64'],
    ['seganet-engine', 'cpus', '1-', 'cpus must be a list of cores such as 1-3,5'],
    ['seganet-engine', 'gatewayId', 'a/b', /without \//],
    ['seganet-engine', 'fastPath', 'on', /from the list/],
    ['seganet-uplink-broker', 'url', '', /missing/],
    ['seganet-uplink-broker', 'url', 'http://cloud', /must be like mqtts/],
    ['seganet-uplink-broker', 'url', 'mqtts://me:pw@cloud', /must not contain a user name/],
    ['seganet-uplink-broker', 'inflight', '0', /from 1 to 1024/],
    ['seganet-mqtt-devices', 'port', '65536', /from 0 to 65535/],
    ['seganet-mqtt-devices', 'port', '1.5', /whole number/],
    ['seganet-mqtt-devices', 'host', 'a b', /address of this machine/],
    ['seganet-ingest', 'deviceId', '', /is missing/],
    ['seganet-ingest', 'deviceId', 'a b', /not a message property/],
    ['seganet-ingest', 'class', '9', /from the list/],
    ['seganet-priority', 'rules', [{ topic: 'a#', class: 1 }], /Rule 1: "a#" is not a topic filter/],
    ['seganet-priority', 'rules', [{ class: 1 }, { class: 9 }], /Rule 2: the class must be/],
    ['seganet-priority', 'rulesJson', '{', /not valid JSON/],
    ['seganet-priority', 'rulesJson', '{}', /JSON array/],
    ['seganet-batch', 'maxBytes', '63', /from 64 to/],
    ['seganet-batch', 'mode', 'zip', /from the list/],
    ['seganet-uplink', 'topic', 'gw/{gate}', /unknown placeholder \{gate\}/],
    ['seganet-uplink', 'topic', 'gw/{gateway', /brace/],
    ['seganet-uplink', 'recordTopic', 'a/#', /nothing can be published/],
    [
      'seganet-priority',
      'rules',
      [{ when: 'a >', class: 1 }],
      /Rule 1: the condition .*column 4: expected a number/
    ],
    ['seganet-priority', 'rulesJson', '[{"when":"a","class":1}]', /column 2: expected ==/],
    ['seganet-filter', 'mode', 'some', /from the list/],
    ['seganet-filter', 'when', '', /Enter a condition/, { mode: 'pass' }],
    ['seganet-filter', 'when', 'a = 1', /column 3: use == to compare/, { mode: 'block' }],
    ['seganet-filter', 'path', 'a.', /column 3: expected a name/, { mode: 'change' }],
    ['seganet-filter', 'band', '-1', /must be a number from 0/, { mode: 'change' }],
    ['seganet-filter', 'everyS', '86401', /from 0 to 86400/, { mode: 'change' }],
    ['seganet-filter', 'records', '0', /from 1 to/, { mode: 'rate' }],
    ['seganet-filter', 'periodS', '1.5', /whole number/, { mode: 'rate' }],
    ['seganet-filter', 'low', 'x', /must be a number/, { mode: 'range' }],
    ['seganet-filter', 'high', '1', /must not end below/, { mode: 'range', low: '2' }],
    ['seganet-filter', 'values', ' ,', /Enter the paths/, { mode: 'window' }],
    ['seganet-filter', 'values', 'a,b.', /column 3: expected a name/, { mode: 'window' }],
    ['seganet-filter', 'values', 'a, b,a', /value a is there twice/, { mode: 'window' }],
    ['seganet-filter', 'values', 'a,'.repeat(17), /at most 16/, { mode: 'window' }],
    ['seganet-filter', 'aggregates', 'min median', /median is not one of first/, { mode: 'window' }],
    ['seganet-filter', 'windowS', '0', /from 1 to 86400/, { mode: 'window' }],
    ['seganet-filter', 'windowRecords', '-1', /from 0 to/, { mode: 'window' }],
    ['seganet-filter', 'windowStart', 'noon', /from the list/, { mode: 'window' }],
    ['seganet-filter', 'windowClass', '9', /from the list/, { mode: 'window' }],
    ['seganet-filter', 'acknowledge', 'never', /from the list/, { mode: 'window' }],
    ...require('../../fixtures/forecast/odd-settings'),
    ['seganet-tap', 'everyN', '-1', /from 0 to/],
    ['seganet-stats', 'intervalS', '0', /from 1 to/],
    ['seganet-stats', 'agents', 'maybe', /from the list/],
    ['seganet-stats', 'content', 'some', /from the list/],
    ['seganet-command', 'take', 'some', /from the list/],
    ['seganet-command', 'expiryS', '0', /from 1 to/],
    ['seganet-command', 'devices', 'é'.repeat(129), /at most 256 bytes/],
    ['seganet-uplink-broker', 'commands', 'maybe', /from the list/],
    ['seganet-uplink-broker', 'commandPrefix', 'cmd/#', /without \+ and #/],
    ['seganet-engine', 'acknowledge', 'maybe', /from the list/],
    ['seganet-engine', 'logMiB', '0', /from 1 to/],
    ['seganet-engine', 'logClassMiB', '1,2,3,4,5,6,7,8,9', /one to eight numbers/],
    ['seganet-engine', 'ttl', '0,0,7,1d', /one to eight times/],
    ['seganet-engine', 'whenFull', 'panic', /from the list/],
    ['seganet-engine', 'weights', '8,4,1', /must begin with 0 for class 1/],
    ['seganet-engine', 'weights', '0,0,1', /must begin with 0 for class 1/],
    ['seganet-engine', 'agingMs', '3600001', /from 0 to/],
    ['seganet-engine', 'classRate', '1;2', /one to eight numbers/],
    ['seganet-engine', 'classQueue', '1,2,3,4,5,6,7,8,9', /one to eight numbers/],
    ['seganet-uplink-broker', 'groups', '1,2/9', /classes from 1 to 8/],
    ['seganet-uplink-broker', 'groups', '1,2/', /classes from 1 to 8/],
    ['seganet-uplink-broker', 'groups', '1,2/2', /a class twice/],
    ['seganet-uplink-broker', 'groups', '3/1', /most urgent/],
    ['seganet-uplink-broker', 'reserve', '101', /from 0 to 100/],
    ['seganet-uplink-broker', 'priority', '7,0', /from 0 to 6/],
    ['seganet-uplink-broker', 'paths', 'eth0:spare', /up to eight interfaces/],
    ['seganet-uplink-broker', 'paths', 'a,b,c,d,e,f,g,h,i', /up to eight interfaces/],
    ['seganet-uplink-broker', 'congestion', 'cubic;', /up to 15 of a-z/],
    ['seganet-uplink-broker', 'dscp', 'EF', /from 0 to 63/],
    ['seganet-batch', 'flush', 'now', /from the list/],
    ['seganet-batch', 'gapMs', '1001', /from 0 to 1000/],
    ['seganet-batch', 'patience', '100,1000', /must begin with 0 for class 1/],
    ['seganet-mqtt-devices', 'devices', [{ device: '', class: 1 }], /device 1 has no device/],
    ['seganet-mqtt-devices', 'devices', [{ device: 'a', class: 9 }], /the class must be/],
    ['seganet-mqtt-devices', 'devicesJson', '{', /not valid JSON/],
    ['seganet-mqtt-devices', 'devicesJson', '{}', /JSON array/],
    ['seganet-engine', 'lingerMs', '1001', /from 0 to 1000/],
    ['seganet-uplink-broker', 'backlogShare', '0', /from 1 to 100/],
    ['seganet-uplink-broker', 'ackTimeoutMs', '10', /from 1000/],
    ['seganet-uplink', 'history', 'maybe', /from the list/],
    ['seganet-uplink', 'historySuffix', '/+', /nothing can be published/],
    ['seganet-unbatch', 'window', '0', /from 1 to/],
    ['seganet-unbatch', 'copies', 'some', /from the list/],
    ['seganet-unbatch', 'historySuffix', '/#', /no topic ends/],
    ['seganet-unbatch', 'gatewayTopic', 'gw/{class}', /must have \{gateway\}/],
    ['seganet-unbatch', 'gatewayTopic', 'gw/{device}/{gateway}', /must have \{gateway\}/],
    ['seganet-unbatch', 'gatewayTopic', 'gw/{gateway}/{class}, gw/+/{gateway}', /must not contain \+/],
    ['seganet-unbatch', 'gatewayTopic', 'gw/{gateway}/{klass}', /unknown placeholder/],
    ['seganet-series', 'values', 'a = b c', /is not a path/],
    ['seganet-series', 'limitMiB', '7', /from 8 to/],
    ['seganet-find', 'rules', '{"device":"a"}', /must be a list/],
    ['seganet-find', 'maxThings', '0', /from 1 to/],
    ['seganet-mqtt-source', 'url', 'mqtt://me:pw@broker', /must not contain a user name/],
    ['seganet-mqtt-source', 'url', 'http://broker', /must be like mqtt/],
    ['seganet-mqtt-source', 'topics', ' , ', /at least one topic filter/],
    ['seganet-mqtt-source', 'topics', 'a/#/b', /"a\/#\/b" is not a topic filter/],
    ['seganet-mqtt-source', 'device', '', /is missing/, { deviceFrom: 'fixed' }],
    ['seganet-mqtt-source', 'window', '0', /from 1 to 1000/],
    ['seganet-http-devices', 'path', '/r/', /without leading or trailing slashes/],
    ['seganet-http-devices', 'login', 'none', /Any client/, { host: '0.0.0.0' }],
    ['seganet-http-devices', 'tokenFile', '', /is missing/, { login: 'tokens' }],
    ['seganet-http-devices', 'corsOrigins', 'app.example.com', /must be origins/],
    ['seganet-ble-devices', 'adapter', 'eth0', /must be hci0/],
    ['seganet-ble-devices', 'services', '180d,heart', /heart is not a UUID/],
    ['seganet-ble-devices', 'minRssi', '-129', /from -128 to 20/],
    ['seganet-ble-devices', 'match', 'a,'.repeat(100), /more than 100/],
    ['seganet-ble-devices', 'topic', 'ble/{mac}', /unknown placeholder \{mac\}/],
    ['seganet-ble-devices', 'deviceId', '{name', /brace/],
    ['seganet-ble-devices', 'characteristics', [{ characteristic: 'x', mode: 'notify' }], /1 has no UUID/],
    [
      'seganet-ble-devices',
      'characteristics',
      [{ characteristic: '2a37', mode: 'x' }],
      /subscribe, read or write/
    ],
    [
      'seganet-coap-observe',
      'resources',
      [{ url: 'http://x/', mode: 'poll' }],
      /1 needs an address such as coap/
    ],
    ['seganet-coap-observe', 'resources', [{ url: 'coap://x/', mode: 'poll', intervalS: '0' }], /1 to 86400/],
    [
      'seganet-coap-observe',
      'resources',
      [{ url: 'coap://x/', mode: 'poll', class: '9' }],
      /class must be 1 to 8/
    ],
    ['seganet-coap-observe', 'timeoutS', '301', /from 1 to 300/],
    ['seganet-coap-observe', 'topic', 'coap/+', /nothing can be published/]
  ])('%s %s %j', (...row) => {
    const [type, name, value, reason, node] = row;
    expect(verdict(type, name, value, node)).toMatch(reason);
  });

  test('accepts numbers of a flow file like text', () => {
    expect(verdict('seganet-mqtt-devices', 'port', 1883)).toBe(true);
    expect(verdict('seganet-uplink', 'qos', 1)).toBe(true);
    expect(verdict('seganet-batch', 'minDevices', '')).toBe(true);
  });

  test('accepts a flow from before the log unchanged', () => {
    const later = {
      'seganet-engine': [
        'acknowledge',
        'logDir',
        'logMiB',
        'logClassMiB',
        'ttl',
        'whenFull',
        'patienceMs',
        'lingerMs'
      ],
      'seganet-uplink-broker': [
        'backlogRate',
        'backlogShare',
        'ackTimeoutMs',
        'userTimeoutMs',
        'redundantAlarms',
        'sparkplugGroup',
        'sparkplugNode'
      ],
      'seganet-uplink': ['format', 'history', 'historySuffix']
    };
    for (const [type, names] of Object.entries(later)) {
      for (const name of names) expect([name, verdict(type, name, undefined)]).toEqual([name, true]);
    }
  });

  test.each(['0,0,256,128', ' 0, 0 ,1,2', ''])('accepts %j as limits of the classes', (value) => {
    expect(verdict('seganet-engine', 'logClassMiB', value)).toBe(true);
  });

  test.each(['0,0,7d,1d', '90s,15m,12h,0', ''])('accepts %j as a time for each class', (value) => {
    expect(verdict('seganet-engine', 'ttl', value)).toBe(true);
  });

  test('measures a device id as text in bytes', () => {
    const fixed = { deviceIdType: 'str' };
    expect(verdict('seganet-ingest', 'deviceId', 'é'.repeat(128), fixed)).toBe(true);
    expect(verdict('seganet-ingest', 'deviceId', 'é'.repeat(129), fixed)).toMatch(/256 bytes/);
  });
});
