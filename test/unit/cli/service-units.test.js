'use strict';
// The systemd units of what runs beside the gateway: seganet-gateway install-service SERVICE.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { BESIDE } = require('../../../flows/cli/service-units');
const { readArguments } = require('../../../flows/cli/usage');
const { needs } = require('../../../bench/harness/tools');

const { test: withSystemd } = needs('systemd-analyze');
const SERVICES = Object.keys(BESIDE);
const PUBLIC = ['--network', 'plant', '--public', 'overlay.example.com'];

/** @type {string} */
let folder;
/** @type {string} */
let program;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'units-'));
  program = path.join(folder, 'over lay 5%; touch mark');
  fs.writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

/** @param {string} service @param {Partial<import('../../../flows/cli/service-units').Asked>} [more] */
const made = (service, more) =>
  BESIDE[service]({
    home: '',
    user: 'seganet',
    args: service === 'overlay-services' ? PUBLIC : [],
    node: '/bin/sh',
    keeper: '/usr/lib/seganet/main.js',
    groups: [],
    env: { SEGANET_OVERLAY: program },
    ...more
  });

test('the keeper leaves its tenants running, and gets the rights of Docker where that is installed', () => {
  const { name, text } = made('tenants');
  expect(name).toBe('seganet-tenants');
  expect(text).toMatch(/^ExecStart=\/bin\/sh \/usr\/lib\/seganet\/main\.js run$/m);
  expect(text).toMatch(/^KillMode=process$/m);
  expect(text).toMatch(/^Environment=SEGANET_HOME=\/var\/lib\/seganet$/m);
  expect(text).toMatch(/^CapabilityBoundingSet=$/m);
  expect(text).not.toMatch(/docker$/m);
  expect(made('tenants', { groups: ['root', 'docker'] }).text).toMatch(/^SupplementaryGroups=docker$/m);
  expect(made('tenants', { user: 'root' }).text).not.toMatch(/Capabilit/);
});

test('the rules of the tenants are applied by root, before the keeper and the gateway', () => {
  const { name, text } = made('tenants-net');
  expect(name).toBe('seganet-tenants-net');
  expect(text).toMatch(/^ExecStart=.* net apply$/m);
  expect(text).toMatch(/^Before=seganet-tenants\.service seganet-gateway\.service$/m);
  expect(text).not.toMatch(/^User=/m);
  expect(() => made('tenants-net', { keeper: '/home/pi/main.js' })).toThrow(/runs as root, and \/home\/pi/);
});

test('a node of the overlay has only the capabilities that its options need', () => {
  expect(made('overlay', { args: ['--socks', '127.0.0.1:1080'] }).text).toMatch(/^AmbientCapabilities=$/m);
  for (const args of [['--tun', 'o0'], ['--tun=o0'], ['-tun', 'o0']])
    expect(made('overlay', { args }).text).toMatch(/^AmbientCapabilities=CAP_NET_ADMIN /m);
  const { text } = made('overlay-services', { home: '/srv/overlay' });
  expect(text).toMatch(/ serve --state \/srv\/overlay --network plant --public overlay\.example\.com$/m);
  expect(text).toMatch(/^AmbientCapabilities=CAP_NET_BIND_SERVICE$/m);
  expect(text).toMatch(/^ReadWritePaths=\/srv\/overlay$/m);
});

test('says what is missing: options, or the program', () => {
  expect(() => made('overlay-services', { args: ['--network', 'plant'] })).toThrow(/--public at least/);
  expect(() => made('tenants', { args: ['--x'] })).toThrow(/takes no options/);
  for (const odd of ['$x', "it's", '"x"', 'a\\b'])
    expect(() => made('overlay', { env: { SEGANET_OVERLAY: `/opt/${odd}` } })).toThrow(
      /systemd runs no program/
    );
  const read = (/** @type {string[]} */ ...args) => readArguments(['install-service', ...args]).options;
  expect(read('overlay', '--print', '--', '--tun', 'x')).toMatchObject({
    service: 'overlay',
    args: ['--tun', 'x'],
    print: true
  });
  expect(read()).toMatchObject({ service: 'gateway', args: [] });
  expect(() => read('fly')).toThrow(/There is no service 'fly'; it is one of gateway, tenants/);
  expect(() => read('gateway', 'x')).toThrow(/one argument too many/);
  expect(() => read('overlay', '--', 'a\nUser=root')).toThrow(/control character/);
});

test('prints commands that run nothing else, whatever the folder and the program are called', () => {
  const home = path.join(folder, "h'; touch mark; `touch mark` $(touch mark)");
  const stubs = path.join(folder, 'stubs');
  fs.mkdirSync(stubs);
  for (const name of ['useradd', 'seganet-gateway', 'chown', 'systemctl', 'sudo'])
    fs.writeFileSync(path.join(stubs, name), '#!/bin/sh\n', { mode: 0o755 });
  for (const service of SERVICES) {
    const { next } = made(service, { home });
    const env = { PATH: `${stubs}:${process.env.PATH}` };
    const ran = spawnSync('sh', ['-e', '-c', next.join('\n')], { cwd: folder, env, encoding: 'utf8' });
    expect({ service, status: ran.status, errors: ran.stderr }).toEqual({ service, status: 0, errors: '' });
  }
  expect(fs.existsSync(path.join(folder, 'mark'))).toBe(false);
});

withSystemd.each(SERVICES)('systemd accepts the unit of %s, also with odd characters', (service) => {
  const odd = ['--public', 'it\'s 100% "$x" \\'];
  const args = service.startsWith('overlay') ? odd : [];
  const home = path.join(folder, `a b%c'd"`);
  // A user that exists everywhere.
  const { name, text } = made(service, { home, args, user: 'root', keeper: program });
  const file = path.join(folder, `${name}.service`);
  fs.writeFileSync(file, text);
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect(verified.stderr.split('\n').filter((line) => line.includes(name))).toEqual([]);
  expect(verified.status).toBe(0);
});
