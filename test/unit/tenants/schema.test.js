'use strict';
// Which tenants files the keeper and the gateway accept.

const { SchemaError, parseTenants } = require('../../../nodes/lib/tenants/file/schema');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { seeded } = require('../../fixtures/random');

const acme = { name: 'acme', driver: 'process' };

/** @param {object[]} tenants */
const fileOf = (...tenants) => JSON.stringify({ version: 1, tenants });
/** @param {object} changes */
const one = (changes) => fileOf({ ...acme, ...changes });

/** @param {object} all */
const templates = (all) => JSON.stringify({ version: 1, tenants: [], templates: all });

/** Names and texts of valid files. @type {[string, string][]} */
const VALID = [
  ['no tenant', fileOf()],
  ['the least', fileOf(acme)],
  [
    'every key',
    fileOf({
      name: 'acme',
      driver: 'docker',
      image: `registry.example:5000/acme/gateway@${DIGEST}`,
      command: ['node', 'flows/launcher/start.js', ''],
      port: 1883,
      limits: {
        memoryMiB: 256,
        cpus: 0.5,
        pids: 128,
        files: 4096,
        volumeMiB: 1024,
        writeMiBps: 8,
        rate: 100,
        waitingMiB: 64
      },
      idleMs: 600000,
      stopMs: 3600000,
      warm: false,
      always: true,
      http: 8080,
      tcp: 4840
    })
  ],
  ['an image by its id', one({ driver: 'podman', image: DIGEST })],
  ['kubernetes', one({ driver: 'kubernetes' })],
  ['HTTP without MQTT', one({ port: 0, http: 8080 })],
  ['a TCP service without MQTT', one({ port: 0, tcp: 4840 })],
  [
    'the shortest and the longest name',
    fileOf({ ...acme, name: 'a' }, { ...acme, name: `a${'-'.repeat(30)}9` })
  ],
  [
    'templates',
    JSON.stringify({
      version: 1,
      tenants: [{ ...acme, template: 'gone', byApi: true }],
      templates: {
        pump: { driver: 'docker', image: DIGEST, flow: '/flows/pump', most: 1000 },
        b: { driver: 'kubernetes' }
      }
    })
  ],
  ['1,000 tenants', fileOf(...Array.from({ length: 1000 }, (_, i) => ({ ...acme, name: `t${i}` })))]
];

/** Name, text, and what the error names. @type {[string, string, string][]} */
const INVALID = [
  ['no JSON', '{"version":1,', 'JSON'],
  ['a list', '[]', 'object'],
  ['null', 'null', 'object'],
  ['no version', '{"tenants":[]}', 'version'],
  ['a newer version', '{"version":2,"tenants":[]}', 'version'],
  ['no list', '{"version":1}', 'tenants'],
  ['an unknown key of the file', '{"version":1,"tenants":[],"tenant":[]}', "'tenant'"],
  ['an unknown key of a tenant', one({ memory: 1 }), "'memory'"],
  [
    'a key of every object',
    '{"version":1,"tenants":[{"name":"a","driver":"process","__proto__":{}}]}',
    "'__proto__'"
  ],
  ['an unknown limit', one({ limits: { memory: 1 } }), "'memory'"],
  ['an entry that is no object', '{"version":1,"tenants":["acme"]}', 'tenants[0]'],
  ['no name', fileOf({ driver: 'process' }), 'name'],
  ['an upper-case name', one({ name: 'Acme' }), 'name'],
  ['a name with a dash at its end', one({ name: 'acme-' }), 'name'],
  ['a name with a colon', one({ name: 'a:b' }), 'name'],
  ['a name with a line break', one({ name: 'acme\n' }), 'name'],
  ['a name that leads elsewhere', one({ name: '..' }), 'name'],
  ['a name of 33 characters', one({ name: 'a'.repeat(33) }), 'name'],
  ['a name twice', fileOf(acme, acme), "'acme'"],
  ['no driver', fileOf({ name: 'acme' }), 'driver'],
  ['an unknown driver', one({ driver: 'lxc' }), 'driver'],
  ['a container without an image', one({ driver: 'docker' }), 'image'],
  ['a process with an image', one({ image: DIGEST }), 'image'],
  ['an image by its tag', one({ driver: 'docker', image: 'acme/gateway:latest' }), 'image'],
  ['an image with a short digest', one({ driver: 'docker', image: 'acme@sha256:0123' }), 'image'],
  ['an empty command', one({ command: [] }), 'command'],
  ['a command that is a text', one({ command: 'node x.js' }), 'command'],
  ['a command of numbers', one({ command: ['node', 1] }), 'command'],
  ['a command without a program', one({ command: ['', 'x'] }), 'command'],
  ['a command with NUL', one({ command: ['node', 'a\0b'] }), 'command'],
  ['a command of 65 parts', one({ command: Array(65).fill('x') }), 'command'],
  ['a port as a text', one({ port: '1883' }), 'port'],
  ['a port that is too large', one({ port: 65536 }), 'port'],
  ['a port that is a fraction', one({ port: 1883.5 }), 'port'],
  ['no port at all', one({ port: 0 }), 'http'],
  ['one port for two protocols', one({ port: 8080, http: 8080 }), 'http'],
  ['a service on the port of MQTT', one({ port: 4840, tcp: 4840 }), 'tcp'],
  ['a service on the port of HTTP', one({ http: 4840, tcp: 4840 }), 'tcp'],
  ['a service that is no port', one({ tcp: 65536 }), 'tcp'],
  ['too few open files', one({ limits: { files: 63 } }), 'limits.files'],
  ['a write rate below 0', one({ limits: { writeMiBps: -1 } }), 'limits.writeMiBps'],
  ['limits that are a list', one({ limits: [] }), 'limits'],
  ['limits that are null', one({ limits: null }), 'limits'],
  ['too little memory', one({ limits: { memoryMiB: 15 } }), 'memoryMiB'],
  ['no processor', one({ limits: { cpus: 0 } }), 'cpus'],
  ['too few processes', one({ limits: { pids: 7 } }), 'pids'],
  ['no volume', one({ limits: { volumeMiB: 0 } }), 'volumeMiB'],
  ['a negative rate', one({ limits: { rate: -1 } }), 'rate'],
  ['nothing may wait', one({ limits: { waitingMiB: 0 } }), 'waitingMiB'],
  ['an idle time that is too short', one({ idleMs: 99 }), 'idleMs'],
  ['a stop time of more than a week', one({ stopMs: 604800001 }), 'stopMs'],
  ['warm as a text', one({ warm: 'yes' }), 'warm'],
  ['always as a number', one({ always: 1 }), 'always'],
  [
    '1,001 tenants',
    fileOf(...Array.from({ length: 1001 }, (_, i) => ({ ...acme, name: `t${i}` }))),
    'tenants'
  ],
  ['a tenant of a template without a name', one({ template: '' }), 'template'],
  ['a mark that is no flag', one({ byApi: 'yes' }), 'byApi'],
  ['a list of templates', '{"version":1,"tenants":[],"templates":[]}', 'templates'],
  [
    'a template with the name of every object',
    '{"version":1,"tenants":[],"templates":{"__proto__":{}}}',
    '__proto__'
  ],
  ['a template without a driver', templates({ pump: {} }), 'templates.pump.driver'],
  ['a template with a name of a tenant', templates({ pump: { ...acme } }), "'name'"],
  [
    'a template that is made of another',
    templates({ pump: { driver: 'process', template: 'a' } }),
    "'template'"
  ],
  ['a template without its image', templates({ pump: { driver: 'docker' } }), 'templates.pump.image'],
  ['a relative flow', templates({ pump: { driver: 'process', flow: 'flow' } }), 'templates.pump.flow'],
  ['a flow with NUL', templates({ pump: { driver: 'process', flow: '/a\0' } }), 'templates.pump.flow'],
  ['too many tenants of a template', templates({ pump: { driver: 'process', most: 1001 } }), 'most'],
  ['fewer than no tenant', templates({ pump: { driver: 'process', most: -1 } }), 'most'],
  [
    'a template for the page in a cluster',
    templates({ pump: { driver: 'kubernetes', most: 1 } }),
    'kubernetes'
  ],
  [
    '101 templates',
    templates(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`t${i}`, { driver: 'process' }]))),
    'templates'
  ],
  ['more than 4 MiB', `${fileOf()}${' '.repeat(4 << 20)}`, '4 MiB']
];

test.each(VALID)('accepts %s', (_, text) => {
  const names = JSON.parse(text).tenants.map((/** @type {{ name: string }} */ { name }) => name);
  expect(parseTenants(text).map(({ name }) => name)).toEqual(names);
  expect(parseTenants(Buffer.from(text))).toEqual(parseTenants(text));
});

test.each(INVALID)('refuses %s in a sentence that names the place', (_, text, place) => {
  expect(() => parseTenants(text)).toThrow(SchemaError);
  expect(() => parseTenants(text)).toThrow(place);
  expect(() => parseTenants(text)).toThrow(/\.$/);
});

test('a sentence about an unknown key is one line of limited length', () => {
  const text = one({ [`\x1b[2J\n${'x'.repeat(10000)}`]: 1 });
  expect(() => parseTenants(text)).toThrow(
    /^tenants\[0\] has the unknown key ' \[2J x{50,100}…'\. Known keys: .*\.$/
  );
});

test('throws nothing but sentences for changed bytes (seeded)', () => {
  const { integer } = seeded(19);
  const base = Buffer.from(VALID[2][1]);
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(base);
    for (let i = 0; i <= integer(3); i++) bytes[integer(bytes.length)] = integer(256);
    try {
      expect(Array.isArray(parseTenants(bytes.subarray(0, 1 + integer(bytes.length))))).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(SchemaError);
    }
  }
});

test('fills in the standards', () => {
  expect(parseTenants('{"version":1,"tenants":[{"name":"acme","driver":"process"}]}')).toEqual([
    {
      name: 'acme',
      driver: 'process',
      image: '',
      command: [],
      port: 1883,
      http: 0,
      tcp: 0,
      limits: {
        memoryMiB: 256,
        cpus: 1,
        pids: 128,
        files: 4096,
        volumeMiB: 1024,
        writeMiBps: 32,
        rate: 0,
        waitingMiB: 64
      },
      idleMs: 600000,
      stopMs: 3600000,
      template: '',
      byApi: false,
      warm: true,
      always: false
    }
  ]);
});
