'use strict';
// A subscription to another broker. Its messages become records, and each message is acknowledged when its record is
// safe.
//
// Reading stops while more than `window` messages wait for their acknowledgement. MQTT 5 brokers know the number as
// Receive Maximum. For others the socket fills up. The keep-alive continues meanwhile.

const { CODES } = require('../../engine/inbox');
const { Session } = require('../../uplink/session/session');
const { makeReading } = require('./source-client');
const { matches, plainFilter } = require('./topic-filters');
const { Acknowledgements } = require('./acknowledgements');
const { toRecordArgs } = require('./message-record');
const { subscribe, unsubscribe } = require('./subscription');

/**
 * @typedef {import('../../uplink/session/reason-codes').Reason} Reason
 * @typedef {import('./packet-reader').Publish} Publish
 *
 * @typedef {object} SourceHandlers
 * @property {(args: import('../../base/record').RecordArgs, done: import('../../engine/inbox').Done, options: { delivery: boolean }) => void}
 *   put
 * @property {(sentence: string) => void} warn
 * @property {() => void} [onConnected]
 * @property {() => number} [now] ms
 */

/** Reason codes for MQTT 5 brokers [MQTT 3.4.2.1]. The message is acknowledged in either case. */
const REFUSED = 0x83;
const TOO_LARGE = 0x97;
const TOPIC_NAME_INVALID = 0x90;
const END_MS = 3000;
const UNSUBSCRIBE_MS = 500;
const WARN_EVERY_MS = 60000;
const EMPTY = Buffer.alloc(0);
const PINGREQ = Buffer.from([0xc0, 0]);
/** @type {Reason} */
const NOT_TAKEN = {
  code: 'NOT_TAKEN',
  reason: 'The engine did not accept a message. Reconnecting, so that the broker sends it again.',
  refused: false
};

class Source {
  #options;
  #handlers;
  #now;
  #filters;
  /** QoS 0 messages that wait for room in the engine. */
  #unanswered;
  #ending;
  #isHeld;
  /** @type {Map<string, number>} time of the last warning, by kind */
  #warnedAt;
  #pingedAt;
  /** True if this connection has acknowledged a message. */
  #hasProgress;

  /**
   * @param {import('./mqtt-source-options').SourceOptions} options
   * @param {SourceHandlers} handlers
   * @param {import('../../uplink/session/dial').Native} [native]
   */
  constructor(options, handlers, native) {
    this.#options = options;
    this.#handlers = handlers;
    this.#now = handlers.now ?? (() => performance.now());
    this.#filters = options.filters.map(plainFilter);
    this.acknowledgements = new Acknowledgements(options.session.protocolVersion);
    this.acknowledgements.onReleased = () => {
      this.#hasProgress = true;
      this.#resume();
    };
    this.#unanswered = 0;
    /** @type {import('./source-client').Reading | null} */
    this.reading = null;
    /** Known subscriptions of the broker's session. @type {Set<string>} */
    this.subscribed = new Set();
    this.#ending = false;
    this.#isHeld = false;
    this.#warnedAt = new Map();
    this.#pingedAt = 0;
    this.#hasProgress = false;
    this.counters = { received: 0, refused: 0, ignored: 0, foreign: 0, tooLarge: 0, dropped: 0, repeated: 0 };
    /** @type {import('../../uplink/session/session').State} */
    this.state = 'stopped';
    /** @type {Reason | null} */
    this.why = null;
    this.session = new Session(
      options.session,
      {
        onState: (state, why) => this.onState(state, why),
        onConnected: (link) => this.#onConnected(link.sessionPresent === true),
        onDisconnected: () => this.#onDisconnected()
      },
      native,
      (parts) => this.#open(parts)
    );
  }

  /** True while reading from the broker is paused because the engine has no room, or the log is slow. */
  get waits() {
    return this.reading?.waits() ?? false;
  }

  start() {
    this.session.start();
  }

  /**
   * Pauses reading while the records have no destination. The broker keeps its messages.
   * @param {boolean} isHeld
   */
  hold(isHeld) {
    this.#isHeld = isHeld;
    if (!isHeld) this.#resume();
  }

  /** Call it once a second. Sends pings also while reading is paused and mqtt.js gets no PINGRESP. */
  tick() {
    if (!this.waits) return;
    const now = this.#now();
    if (now - this.#pingedAt < (this.#options.session.keepalive * 1000) / 2) return;
    this.#pingedAt = now;
    this.reading?.write(PINGREQ);
    this.session.alive();
  }

  /**
   * Stops reading, and acknowledges accepted messages while there is time.
   * @param {boolean} forGood true: the node was deleted, so the broker's session is ended too
   */
  async stop(forGood) {
    this.#ending = true;
    const until = this.#now() + END_MS;
    while (this.acknowledgements.size > 0 && this.state === 'connected' && this.#now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const client = this.state === 'connected' ? this.reading?.client : null;
    if (forGood && client) await unsubscribe(client, [...this.subscribed], UNSUBSCRIBE_MS);
    await new Promise((resolve) => this.session.stop(() => resolve(undefined)));
    this.acknowledgements.disconnected();
    this.state = 'stopped';
  }

  /** @param {import('../../uplink/session/mqtt-client').ClientParts} parts */
  #open(parts) {
    const reading = makeReading(parts, this.#options, {
      onPublish: (packet) => this.#onPublish(packet),
      onTooLarge: (size, head) => this.#onTooLarge(size, head),
      onPubrel: (id) => this.acknowledgements.pubrel(id),
      hasRoom: () =>
        !this.#ending && !this.#isHeld && this.acknowledgements.size + this.#unanswered < this.#options.window
    });
    this.reading = reading;
    // The broker may send messages before its SUBACK, directly after the CONNACK.
    reading.client.on('packetreceive', (packet) => {
      if (packet.cmd !== 'connack' || this.reading !== reading) return;
      this.acknowledgements.connected(reading.write, packet.sessionPresent === true);
    });
    return reading.client;
  }

  /** @param {import('../../uplink/session/session').State} state @param {Reason | null} why */
  onState(state, why) {
    this.state = state;
    const reason = why?.reason.replace(/ in the broker node/g, ' in the node') ?? '';
    if (why && reason !== this.why?.reason && ['refused', 'disconnected'].includes(state)) {
      this.#handlers.warn(reason);
    }
    this.why = state === 'connected' ? null : why ? { ...why, reason } : this.why;
  }

  /** @param {boolean} sessionPresent */
  #onConnected(sessionPresent) {
    const { reading } = this;
    const options = this.#options;
    if (!reading) return;
    if (!sessionPresent) this.subscribed.clear();
    const missing = options.filters.filter((filter) => !this.subscribed.has(filter));
    subscribe(reading.client, missing, options, (refusals) => {
      for (const filter of missing) if (!refusals.has(filter)) this.subscribed.add(filter);
      for (const [filter, reason] of refusals) {
        this.#handlers.warn(
          `The broker refused the topic filter "${filter}" (${reason}). Check the rights of this client at the broker.`
        );
      }
    });
    this.#handlers.onConnected?.();
  }

  #onDisconnected() {
    this.reading = null;
    this.#hasProgress = false;
    this.acknowledgements.disconnected();
  }

  /** @param {Publish} packet */
  #onPublish(packet) {
    const { acknowledgements, counters } = this;
    const acknowledgement = packet.qos > 0 ? acknowledgements.publish(packet) : undefined;
    if (acknowledgement === null) {
      counters.repeated++;
      return;
    }
    counters.received++;
    /** @param {number} [code] */
    const settle = (code) => acknowledgement && acknowledgements.settle(acknowledgement, code);
    if (packet.retain && !this.#options.takeRetained) {
      counters.ignored++;
      return settle();
    }
    if (!this.#filters.some((filter) => matches(filter, packet.topic))) {
      counters.foreign++;
      this.#tell(
        'foreign',
        `The broker's session still has an earlier subscription, which delivered "${packet.topic}". Choose another client id, or end the session at the broker.`
      );
      return settle();
    }
    let args;
    try {
      args = toRecordArgs(packet, this.#options.reading);
    } catch (error) {
      counters.refused++;
      this.#tell('refused', `${/** @type {Error} */ (error).message} The message is dropped.`);
      return settle(REFUSED);
    }
    this.#put(args, acknowledgement);
  }

  /**
   * @param {import('../../base/record').RecordArgs} args
   * @param {import('./acknowledgements').Acknowledgement} [acknowledgement] for QoS 1 and 2
   */
  #put(args, acknowledgement) {
    if (!acknowledgement) this.#unanswered++;
    this.#handlers.put(args, (error) => this.#onDone(acknowledgement, error), {
      delivery: acknowledgement !== undefined
    });
  }

  /**
   * @param {import('./acknowledgements').Acknowledgement | undefined} acknowledgement
   * @param {(Error & { code?: string }) | undefined} error
   */
  #onDone(acknowledgement, error) {
    const { counters } = this;
    if (!acknowledgement) {
      this.#unanswered--;
      // Not inside the tap's own loop.
      if (this.waits) queueMicrotask(() => this.#resume());
    }
    if (!error) {
      if (acknowledgement) this.acknowledgements.settle(acknowledgement);
      return;
    }
    if (error.code === CODES.TOO_LONG) counters.tooLarge++;
    else if (error.code === CODES.REFUSED) counters.refused++;
    else counters.dropped++;
    this.#tell(error.code ?? '', error.message);
    if (!acknowledgement) return;
    if (error.code === CODES.TOO_LONG) this.acknowledgements.settle(acknowledgement, TOO_LARGE);
    // The engine would refuse the same message again.
    else if (error.code === CODES.ODD_TOPIC)
      this.acknowledgements.settle(acknowledgement, TOPIC_NAME_INVALID);
    else if (error.code === CODES.REFUSED) this.acknowledgements.settle(acknowledgement, REFUSED);
    // Dropped by the engine's settings, or a dead letter. Repeating it would change nothing.
    else if (error.code === CODES.DROPPED) this.acknowledgements.settle(acknowledgement);
    else this.#notTaken(acknowledgement);
  }

  /**
   * Handles a record that never reached the engine. The broker keeps its message and repeats it on a new connection.
   */
  #notTaken(/** @type {import('./acknowledgements').Acknowledgement} */ acknowledgement) {
    this.acknowledgements.abandon(acknowledgement);
    if (this.#ending) return;
    // The broker is not the reason, so its back-off does not grow while messages get through. Without any, such as when
    // all flows fail, it grows: each connection gives the flow all unacknowledged messages again.
    this.session.kill({ ...NOT_TAKEN, ...(this.#hasProgress && { soon: true }) });
  }

  /** @param {number} size @param {{ qos: number, id: number }} head */
  #onTooLarge(size, { qos, id }) {
    this.counters.tooLarge++;
    this.#tell(
      'tooLarge',
      `A message of ${size} bytes exceeds the engine's packet limit. The message is dropped.`
    );
    if (qos === 0) return;
    const acknowledgement = this.acknowledgements.publish({
      qos: /** @type {1 | 2} */ (qos),
      id,
      dup: false,
      topic: '',
      payload: EMPTY
    });
    if (acknowledgement) this.acknowledgements.settle(acknowledgement, TOO_LARGE);
  }

  #resume() {
    this.reading?.resume();
  }

  /** @param {string} kind @param {string} sentence at most once a minute for each kind */
  #tell(kind, sentence) {
    const now = this.#now();
    if (now - (this.#warnedAt.get(kind) ?? -Infinity) < WARN_EVERY_MS) return;
    this.#warnedAt.set(kind, now);
    this.#handlers.warn(sentence);
  }
}

exports.Source = Source;
