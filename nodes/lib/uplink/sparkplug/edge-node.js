'use strict';

const { nodeTopic } = require('../../base/sparkplug-topic');
const { readPayload } = require('../../base/sparkplug-payload');
const { ASIDE_ID } = require('../compression/aside');
const { publishPacket } = require('../compression/retained-packet');
const { Births } = require('./births');

/** @typedef {import('mqtt').IPublishPacket} Packet */

const REBIRTH = 'Node Control/Rebirth';
const BD_SEQS = 256;
/** Commands that are read; a longer one is not from a host that wants births. */
const MAX_COMMAND_BYTES = 65536;
const PUBACK = 0x40;
/** Time between two rebirths, no matter how many hosts ask: each sends the births of up to 10,000 devices. */
const REBIRTH_MS = 5000;

/**
 * The edge node of an MQTT session: its will, its births, and the commands to it (Eclipse Sparkplug 3.0).
 */
class EdgeNode {
  #parts;
  #commandTopic;
  #deathTopic;
  /**
   * Of the present session. It begins anywhere: the broker may publish the will of an earlier process after our birth,
   * and a host must not take it for ours.
   */
  #bdSeq = Math.floor(Date.now() / 1000) % BD_SEQS;
  /** Earliest time of the next rebirth. */
  #restUntil = 0;
  /** A host waits for a rebirth. */
  #isAsked = false;
  /** Increases with each session. Older timers then do nothing. */
  #life = 0;

  /**
   * @param {object} parts
   * @param {string} parts.group
   * @param {string} parts.node
   * @param {boolean} parts.isV5
   * @param {import('../sending/feeder').Feeder} parts.feeder of the session
   * @param {(bytes: Buffer) => void} parts.write to the session
   * @param {(code: string, reason: string) => void} parts.problem
   */
  constructor(parts) {
    this.#parts = parts;
    const { group, node, feeder } = parts;
    this.#commandTopic = nodeTopic({ group, type: 'NCMD', node });
    this.#deathTopic = nodeTopic({ group, type: 'NDEATH', node });
    const { writer, output } = feeder.sender;
    this.births = new Births({ writer, output, group, node });
    feeder.sender.births = this.births;
    /** Rebirths that hosts asked for. */
    this.rebirths = 0;
  }

  /** Returns the will of the next session, which begins with the same bdSeq. */
  will() {
    this.#bdSeq = (this.#bdSeq + 1) % BD_SEQS;
    const payload = this.births.death(this.#bdSeq);
    return { topic: this.#deathTopic, payload, qos: /** @type {const} */ (1), retain: false };
  }

  /**
   * Call it before the feeder sends.
   * @param {import('mqtt').MqttClient | null} client
   * @param {number} maximumPacketSize of the broker, 0 = unknown
   */
  connected(client, maximumPacketSize) {
    const { isV5, problem } = this.#parts;
    const filter = this.#commandTopic;
    client?.subscribe(filter, { qos: 1 }, (error, _asked, suback) => {
      // No answer: the connection has ended, and the next session subscribes again.
      if (!suback || (!error && Number(suback.granted[0]) < 0x80)) return;
      problem(
        'NCMD',
        `The broker does not allow the subscription to ${filter}. Sparkplug hosts cannot ask for births: grant that right.`
      );
    });
    this.#life++;
    this.#restUntil = 0;
    this.#isAsked = false;
    this.births.begin(this.#bdSeq, isV5, maximumPacketSize);
  }

  /** The session will end with a DISCONNECT, after which the broker publishes no will. */
  leave() {
    const { write, isV5 } = this.#parts;
    const payload = this.births.death(this.#bdSeq);
    write(publishPacket({ topic: this.#deathTopic, payload, id: ASIDE_ID, isV5, retain: false }));
  }

  /** @param {Packet} packet @param {() => void} done */
  onPublish({ topic, payload, qos, messageId = 0 }, done) {
    if (qos > 0) this.#parts.write(Buffer.from([PUBACK, 2, messageId >> 8, messageId & 0xff]));
    done();
    if (topic !== this.#commandTopic || !wantsRebirth(/** @type {Buffer} */ (payload))) return;
    if (!this.#isAsked) this.#rebirth();
  }

  /** Sends all births again, at once or behind those that are being sent: the host may have missed their begin. */
  #rebirth() {
    const { feeder } = this.#parts;
    const rest = this.#restUntil - feeder.now();
    this.#isAsked = rest > 0 || this.births.isPending;
    if (this.#isAsked) {
      const life = this.#life;
      feeder.delay(() => life === this.#life && this.#rebirth(), rest > 0 ? rest : REBIRTH_MS);
      return;
    }
    this.#restUntil = feeder.now() + REBIRTH_MS;
    this.rebirths++;
    this.births.again();
    feeder.leave();
  }
}

/** @param {Buffer} payload of an NCMD */
function wantsRebirth(payload) {
  if (payload.length > MAX_COMMAND_BYTES) return false;
  try {
    return readPayload(payload).metrics.some(({ name, value }) => name === REBIRTH && value === true);
  } catch {
    return false;
  }
}

exports.EdgeNode = EdgeNode;
