'use strict';
// The commands that start other processes: how a user starts each, and what it prints when all of them run.

const fs = require('node:fs');
const path = require('node:path');
const { freePort } = require('../../../bench/harness/net');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { program } = require('../../../nodes/lib/overlay/locations');

/**
 * @typedef {object} Command
 * @property {string[]} args of npm
 * @property {Record<string, string>} [env]
 * @property {RegExp} ready in its output, when all of its processes run
 */

/** @param {string} name @param {Record<string, number | string>} options @returns {string[]} */
function npmRun(name, options) {
  return ['run', name, '--', ...Object.entries(options).flatMap(([key, value]) => [`--${key}`, `${value}`])];
}

/** @type {Record<string, (folder: string) => Promise<Command>>} */
const commands = {
  start: async (folder) => ({
    args: ['start'],
    env: {
      SEGANET_HOME: path.join(folder, 'home'),
      SEGANET_EDITOR_PORT: `${await freePort()}`,
      SEGANET_MQTT_PORT: `${await freePort()}`
    },
    ready: /demo fleet: \d+ devices connected/
  }),
  cloud: async () => ({
    args: npmRun('cloud', {
      port: await freePort(),
      'editor-port': await freePort(),
      'login-port': await freePort()
    }),
    ready: /The cloud is ready/
  }),
  tenants: async () => ({
    args: npmRun('tenants', {
      port: await freePort(),
      'editor-port': await freePort(),
      'pages-port': await freePort(),
      devices: 2,
      sleep: 60
    }),
    ready: /acme: ready after[^]*beta: ready after|beta: ready after[^]*acme: ready after/
  }),
  overlay: async () => ({
    args: npmRun('overlay', {
      port: await freePort(),
      'editor-port': await freePort(),
      'hub-editor-port': await freePort(),
      'services-port': await freePort(),
      'relay-port': await freePort(),
      seconds: 1
    }),
    ready: /the device is connected/
  }),
  accounts: async (folder) => {
    const users = path.join(folder, 'users');
    const hash = await hashPassword(Buffer.from('secret'), { ln: 10, r: 8, p: 1 });
    fs.writeFileSync(users, `alice:${hash}\n`, { mode: 0o600 });
    return { args: npmRun('accounts', { users, port: await freePort() }), ready: /The provider is ready/ };
  }
};

/** @returns {string[]} names of the commands that this machine can run */
function possible() {
  return Object.keys(commands).filter((name) => name !== 'overlay' || program() !== '');
}

module.exports = { commands, possible };
