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
  /**
   * @param {import('./mqtt-source-options').SourceOptions} options
   * @param {SourceHandlers} handlers
   * @param {import('../../uplink/session/dial').Native} [native]
   */
  constructor(options, handlers, native) {
    this.options_ = options;
    this.handlers_ = handlers;
    this.now_ = handlers.now ?? (() => performance.now());
    this.filters_ = options.filters.map(plainFilter);
    this.acknowledgements_ = new Acknowledgements(options.session.protocolVersion);
    this.acknowledgements_.onReleased = () => this.resume_();
    /** QoS 0 messages that wait for room in the engine. */
    this.unanswered_ = 0;
    /** @type {import('./source-client').Reading | null} */
    this.reading_ = null;
    /** Known subscriptions of the broker's session. @type {Set<string>} */
    this.subscribed_ = new Set();
    this.ending_ = false;
    this.isHeld_ = false;
    /** @type {Map<string, number>} time of the last warning, by kind */
    this.warnedAt_ = new Map();
    this.pingedAt_ = 0;
    this.counters = { received: 0, refused: 0, ignored: 0, foreign: 0, tooLarge: 0, dropped: 0, repeated: 0 };
    /** @type {import('../../uplink/session/session').State} */
    this.state = 'stopped';
    /** @type {Reason | null} */
    this.why = null;
    this.session_ = new Session(
      options.session,
      {
        onState: (state, why) => this.onState_(state, why),
        onConnected: (link) => this.onConnected_(link.sessionPresent === true),
        onDisconnected: () => this.onDisconnected_()
      },
      native,
      (parts) => this.open_(parts)
    );
  }

  /** True while reading from the broker is paused because the engine has no room, or the log is slow. */
  get waits() {
    return this.reading_?.waits() ?? false;
  }

  start() {
    this.session_.start();
  }

  /**
   * Pauses reading while the records have no destination. The broker keeps its messages.
   * @param {boolean} isHeld
   */
  hold(isHeld) {
    this.isHeld_ = isHeld;
    if (!isHeld) this.resume_();
  }

  /** Call it once a second. Sends pings also while reading is paused and mqtt.js gets no PINGRESP. */
  tick() {
    if (!this.waits) return;
    const now = this.now_();
    if (now - this.pingedAt_ < (this.options_.session.keepalive * 1000) / 2) return;
    this.pingedAt_ = now;
    this.reading_?.write(PINGREQ);
    this.session_.alive();
  }

  /**
   * Stops reading, and acknowledges accepted messages while there is time.
   * @param {boolean} forGood true: the node was deleted, so the broker's session is ended too
   */
  async stop(forGood) {
    this.ending_ = true;
    const until = this.now_() + END_MS;
    while (this.acknowledgements_.size > 0 && this.state === 'connected' && this.now_() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const client = this.state === 'connected' ? this.reading_?.client : null;
    if (forGood && client) await unsubscribe(client, [...this.subscribed_], UNSUBSCRIBE_MS);
    await new Promise((resolve) => this.session_.stop(() => resolve(undefined)));
    this.acknowledgements_.disconnected();
    this.state = 'stopped';
  }

  /** @param {import('../../uplink/session/mqtt-client').ClientParts} parts */
  open_(parts) {
    const reading = makeReading(parts, this.options_, {
      onPublish: (packet) => this.onPublish_(packet),
      onTooLarge: (size, head) => this.onTooLarge_(size, head),
      onPubrel: (id) => this.acknowledgements_.pubrel(id),
      hasRoom: () =>
        !this.ending_ &&
        !this.isHeld_ &&
        this.acknowledgements_.size + this.unanswered_ < this.options_.window
    });
    this.reading_ = reading;
    // The broker may send messages before its SUBACK, directly after the CONNACK.
    reading.client.on('packetreceive', (packet) => {
      if (packet.cmd !== 'connack' || this.reading_ !== reading) return;
      this.acknowledgements_.connected(reading.write, packet.sessionPresent === true);
    });
    return reading.client;
  }

  /** @param {import('../../uplink/session/session').State} state @param {Reason | null} why */
  onState_(state, why) {
    this.state = state;
    const reason = why?.reason.replace(/ in the broker node/g, ' in the node') ?? '';
    if (why && reason !== this.why?.reason && ['refused', 'disconnected'].includes(state)) {
      this.handlers_.warn(reason);
    }
    this.why = state === 'connected' ? null : why ? { ...why, reason } : this.why;
  }

  /** @param {boolean} sessionPresent */
  onConnected_(sessionPresent) {
    const { reading_: reading, options_: options } = this;
    if (!reading) return;
    if (!sessionPresent) this.subscribed_.clear();
    const missing = options.filters.filter((filter) => !this.subscribed_.has(filter));
    subscribe(reading.client, missing, options, (refusals) => {
      for (const filter of missing) if (!refusals.has(filter)) this.subscribed_.add(filter);
      for (const [filter, reason] of refusals) {
        this.handlers_.warn(
          `The broker refused the topic filter "${filter}" (${reason}). Check the rights of this client at the broker.`
        );
      }
    });
    this.handlers_.onConnected?.();
  }

  onDisconnected_() {
    this.reading_ = null;
    this.acknowledgements_.disconnected();
  }

  /** @param {Publish} packet */
  onPublish_(packet) {
    const { acknowledgements_: acknowledgements, counters } = this;
    const acknowledgement = packet.qos > 0 ? acknowledgements.publish(packet) : undefined;
    if (acknowledgement === null) {
      counters.repeated++;
      return;
    }
    counters.received++;
    /** @param {number} [code] */
    const settle = (code) => acknowledgement && acknowledgements.settle(acknowledgement, code);
    if (packet.retain && !this.options_.takeRetained) {
      counters.ignored++;
      return settle();
    }
    if (!this.filters_.some((filter) => matches(filter, packet.topic))) {
      counters.foreign++;
      this.tell_(
        'foreign',
        `The broker's session still has an earlier subscription, which delivered "${packet.topic}". Choose another client id, or end the session at the broker.`
      );
      return settle();
    }
    let args;
    try {
      args = toRecordArgs(packet, this.options_.reading);
    } catch (error) {
      counters.refused++;
      this.tell_('refused', `${/** @type {Error} */ (error).message} The message is dropped.`);
      return settle(REFUSED);
    }
    this.put_(args, acknowledgement);
  }

  /**
   * @param {import('../../base/record').RecordArgs} args
   * @param {import('./acknowledgements').Acknowledgement} [acknowledgement] for QoS 1 and 2
   */
  put_(args, acknowledgement) {
    if (!acknowledgement) this.unanswered_++;
    this.handlers_.put(args, (error) => this.onDone_(acknowledgement, error), {
      delivery: acknowledgement !== undefined
    });
  }

  /**
   * @param {import('./acknowledgements').Acknowledgement | undefined} acknowledgement
   * @param {(Error & { code?: string }) | undefined} error
   */
  onDone_(acknowledgement, error) {
    const { counters } = this;
    if (!acknowledgement) {
      this.unanswered_--;
      // Not inside the tap's own loop.
      if (this.waits) queueMicrotask(() => this.resume_());
    }
    if (!error) {
      if (acknowledgement) this.acknowledgements_.settle(acknowledgement);
      return;
    }
    if (error.code === CODES.TOO_LONG) counters.tooLarge++;
    else if (error.code === CODES.REFUSED) counters.refused++;
    else counters.dropped++;
    this.tell_(error.code ?? '', error.message);
    if (!acknowledgement) return;
    if (error.code === CODES.TOO_LONG) this.acknowledgements_.settle(acknowledgement, TOO_LARGE);
    // The engine would refuse the same message again.
    else if (error.code === CODES.ODD_TOPIC)
      this.acknowledgements_.settle(acknowledgement, TOPIC_NAME_INVALID);
    else if (error.code === CODES.REFUSED) this.acknowledgements_.settle(acknowledgement, REFUSED);
    // Dropped by the engine's settings, or a dead letter. Repeating it would change nothing.
    else if (error.code === CODES.DROPPED) this.acknowledgements_.settle(acknowledgement);
    else this.notTaken_(acknowledgement);
  }

  /**
   * Handles a record that never reached the engine. The broker keeps its message and repeats it on a new connection.
   */
  notTaken_(/** @type {import('./acknowledgements').Acknowledgement} */ acknowledgement) {
    this.acknowledgements_.abandon(acknowledgement);
    if (this.ending_) return;
    this.session_.kill(NOT_TAKEN);
  }

  /** @param {number} size @param {{ qos: number, id: number }} head */
  onTooLarge_(size, { qos, id }) {
    this.counters.tooLarge++;
    this.tell_(
      'tooLarge',
      `A message of ${size} bytes exceeds the engine's packet limit. The message is dropped.`
    );
    if (qos === 0) return;
    const acknowledgement = this.acknowledgements_.publish({
      qos: /** @type {1 | 2} */ (qos),
      id,
      dup: false,
      topic: '',
      payload: EMPTY
    });
    if (acknowledgement) this.acknowledgements_.settle(acknowledgement, TOO_LARGE);
  }

  resume_() {
    this.reading_?.resume();
  }

  /** @param {string} kind @param {string} sentence at most once a minute for each kind */
  tell_(kind, sentence) {
    const now = this.now_();
    if (now - (this.warnedAt_.get(kind) ?? -Infinity) < WARN_EVERY_MS) return;
    this.warnedAt_.set(kind, now);
    this.handlers_.warn(sentence);
  }
}

exports.Source = Source;
