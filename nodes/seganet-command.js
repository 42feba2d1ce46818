'use strict';

require('../native/node/needs-node');
const { DEFAULT_EXPIRY_S, MAX_EXPIRY_S } = require('./lib/commands/command');
const { toCommand, toMessage } = require('./lib/commands/command-message');
const { eachSecond } = require('./lib/base/timing/each-second');
const { onInput } = require('./lib/base/message-input');
const { findHost, leaveInert } = require('./lib/engine/join');
const { integer, choice, text } = require('./lib/base/options');
const { readSettings } = require('./lib/settings/migrations');
const { Status } = require('./lib/base/status');

const schema = {
  take: choice(/** @type {const} */ (['away', 'all', 'none']), 'away'),
  devices: text('*', /^[^\0]{1,256}$/, 'a device id or a pattern with * and ?'),
  topicIs: choice(/** @type {const} */ (['rest', 'whole']), 'rest'),
  expiryS: integer(1, MAX_EXPIRY_S, DEFAULT_EXPIRY_S),
  wait: choice(/** @type {const} */ (['queued', 'taken']), 'queued')
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Command(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    const { engine } = /** @type {{ engine?: string }} */ (/** @type {unknown} */ (config));
    const host = findHost(RED, this, engine);
    if (!host) return;
    const { take, devices: pattern, wait } = values;
    const status = new Status(this);
    const stop =
      take === 'none'
        ? () => {}
        : host.commands.listen({
            pattern,
            all: take === 'all',
            take: (command, origin) => this.send(toMessage(command, origin))
          });
    const show = () => status.set(shown(host.commands.view()));
    const endTicks = eachSecond(show);
    show();

    // A queued command has a final result later. The message reports only the first result.
    onInput(this, (msg, _send, done) =>
      host.commands.send(toCommand(msg, values), (told, reason) => {
        if (told === 'taken' || (told === 'queued' && wait === 'queued')) done();
        else if (told !== 'queued') done(failure(told, reason));
      })
    );
    this.on('close', () => {
      stop();
      endTicks();
      status.close();
    });
  }

  RED.nodes.registerType('seganet-command', Command);
};

/**
 * @param {string} status
 * @param {string} reason
 */
function failure(status, reason) {
  /** @type {Record<string, string>} */
  const sentences = {
    refused: 'The command was refused.',
    expired: 'The command expired before its device was reachable.',
    timeout: 'The device did not acknowledge the command.',
    full: 'The command cannot be kept.',
    closed: 'The command was not sent.'
  };
  return Object.assign(new Error(`${sentences[status]} ${reason}`.trim()), {
    code: `SEGANET_COMMAND_${status.toUpperCase()}`
  });
}

/**
 * @param {{ waiting: number, taken: number }} view of all commands of the engine
 * @returns {import('./lib/base/status').Shown}
 */
function shown({ waiting, taken }) {
  const line = `${taken} taken${waiting > 0 ? ` · ${waiting} waiting` : ''}`;
  return { fill: waiting > 0 ? 'yellow' : 'green', shape: 'dot', text: line };
}
