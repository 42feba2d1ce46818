'use strict';
// The control group that an administrator has chosen for the containers of Docker.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { chosenParent } = require('../../../docker/tenants/lib/drivers/engine-parent');

const STANDARD = '/var/run/docker.sock';

/** @type {string} */
let folder;
/** @type {{ proc: string, config: string }} */
let places;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-p-'));
  places = { proc: path.join(folder, 'proc'), config: path.join(folder, 'daemon.json') };
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {unknown} value */
const configure = (value) => fs.writeFileSync(places.config, JSON.stringify(value));

/** @param {number} pid @param {string[]} words @param {string} [name] */
function run(pid, words, name = 'dockerd') {
  const process = path.join(places.proc, String(pid));
  fs.mkdirSync(process, { recursive: true });
  fs.writeFileSync(path.join(process, 'comm'), `${name}\n`);
  fs.writeFileSync(path.join(process, 'cmdline'), [`/usr/bin/${name}`, ...words, ''].join('\0'));
}

test('is in the configuration file, also if no dockerd is seen', () => {
  expect(chosenParent(STANDARD, places)).toBe('');
  configure({ 'cgroup-parent': 'vm.slice' });
  expect(chosenParent(STANDARD, places)).toBe('vm.slice');
  run(7, ['-H', 'fd://', '--containerd=/run/containerd/containerd.sock']);
  expect(chosenParent(STANDARD, places)).toBe('vm.slice');
  expect(chosenParent('/run/docker.sock', places)).toBe('vm.slice');
  expect(chosenParent('/run/other.sock', places)).toBe('');
});

test('is among the arguments of a real process that serves the socket', async () => {
  const program = path.join(folder, 'dockerd');
  fs.writeFileSync(program, '#!/bin/sh\nread -r line\n', { mode: 0o755 });
  const socket = path.join(folder, 'docker.sock');
  const words = [`--host=unix://${socket}`, '--cgroup-parent', '/vms'];
  const child = spawn(program, words, { stdio: ['pipe', 'ignore', 'ignore'] });
  try {
    const { config } = places;
    expect(await eventually(() => chosenParent(socket, { proc: '/proc', config }))).toBe('/vms');
    expect(chosenParent(path.join(folder, 'other.sock'), { proc: '/proc', config })).toBe('');
  } finally {
    child.kill('SIGKILL');
  }
});

test('is that of the dockerd that serves the socket, if there are several', () => {
  const other = path.join(folder, 'other.json');
  fs.writeFileSync(other, JSON.stringify({ 'cgroup-parent': '/file', hosts: ['unix:///run/b.sock'] }));
  run(1, ['--cgroup-parent=/a', '-H', 'unix:///run/a.sock', '-H=tcp://127.0.0.1:2375']);
  run(2, ['--config-file', other]);
  run(3, ['--cgroup-parent', '/c', '-H', 'unix://']);
  run(4, ['--cgroup-parent', '/d', '-H', 'unix:///run/d.sock'], 'podman');
  const sockets = ['/run/a.sock', '/run/b.sock', STANDARD, '/run/d.sock'];
  expect(sockets.map((socket) => chosenParent(socket, places))).toEqual(['/a', '/file', '/c', '']);
});

test('is none in a file or a command line that makes no sense', () => {
  run(1, ['-H', '--cgroup-parent']);
  run(2, ['--cgroup-parent']);
  run(3, ['--config-file', folder]);
  for (const value of [
    null,
    1,
    'x',
    [],
    {},
    { 'cgroup-parent': 7 },
    { hosts: 'unix://' },
    { hosts: [null] }
  ]) {
    configure(value);
    expect(chosenParent(STANDARD, places)).toBe('');
  }
  for (const text of ['', '{', '\0', '\u{fffd}', `"${'x'.repeat(1 << 20)}"`]) {
    fs.writeFileSync(places.config, text);
    expect(chosenParent(STANDARD, places)).toBe('');
  }
});
