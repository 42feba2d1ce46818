'use strict';
// Delivers commands to the devices that the engine serves. Tickets match the results.

const { UNHEARD } = require('./command-queues');

/** Index: CommandEnd of the native API. @type {import('./command-queues').Outcome[]} */
const OUTCOMES = [
  { end: 'taken' },
  { end: 'offline', reason: 'The device is not connected.' },
  { end: 'unheard', reason: UNHEARD },
  { end: 'timeout', reason: 'The device did not acknowledge the command in time.' },
  {
    end: 'offline',
    reason: 'The connection ended before the device acknowledged the command.',
    isDoubtful: true
  },
  { end: 'refused', reason: 'The device refused the command.' },
  { end: 'refused', reason: 'The command is larger than the device accepts.' },
  { end: 'busy' }
];
/** Index: return value of Engine.command(). @type {(import('./command-queues').Outcome | null)[]} */
const ANSWERS = [
  null,
  { end: 'busy' },
  { end: 'refused', reason: 'The device id, topic or payload is too long for the engine.' },
  { end: 'offline', reason: 'The engine is stopping.' }
];
const MAX_TICKET = 0xffffffff;

/** @typedef {Partial<Pick<import('../../../native/index.js').Engine, 'command' | 'takeCommandResults'>>} CommandEngine */

class NativeCarrier {
  #engine;
  #timeoutMs;
  #topicOf;
  /** @type {Map<number, (outcome: import('./command-queues').Outcome) => void>} by ticket */
  #out;
  #last;

  /**
   * @param {CommandEngine} engine
   * @param {number} timeoutMs for the device's acknowledgement
   * @param {(command: import('./command').Command) => string | null} [topicOf] returns the device's own topic, null = none
   */
  constructor(engine, timeoutMs, topicOf = () => null) {
    this.#engine = engine;
    this.#timeoutMs = timeoutMs;
    this.#topicOf = topicOf;
    this.#out = new Map();
    this.#last = 0;
  }

  /**
   * @param {import('./command').Command} command
   * @param {(outcome: import('./command-queues').Outcome) => void} done called once, possibly before send() returns
   */
  send(command, done) {
    const { device, payload, qos } = command;
    if (!this.#engine.command) return done(OUTCOMES[1]);
    const ticket = this.#ticket();
    const own = this.#topicOf(command);
    const topic = own ?? command.topic;
    const result = this.#engine.command(ticket, device, topic, payload, qos, this.#timeoutMs, own !== null);
    const answer = ANSWERS[result];
    if (answer) return done(answer);
    this.#out.set(ticket, done);
  }

  /** Call it when the engine's doorbell rings. */
  take() {
    const results = this.#engine.takeCommandResults?.() ?? [];
    for (let i = 0; i < results.length; i += 2) {
      const done = this.#out.get(results[i]);
      this.#out.delete(results[i]);
      done?.(OUTCOMES[results[i + 1]] ?? { end: 'refused', reason: `Unknown result ${results[i + 1]}.` });
    }
  }

  #ticket() {
    do this.#last = this.#last === MAX_TICKET ? 1 : this.#last + 1;
    while (this.#out.has(this.#last));
    return this.#last;
  }
}

exports.NativeCarrier = NativeCarrier;
