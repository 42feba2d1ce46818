'use strict';

const { Backoff } = require('../../base/backoff');
const { accessSentence, meaningOf } = require('./errors');
const { Leaders } = require('./leaders');
const { checkReplicas } = require('./replica-check');

/** @typedef {import('./errors').Meaning} Meaning */
/** @typedef {InstanceType<typeof import('./produce-api').ProduceApi>} Api */
/** @typedef {'connecting' | 'connected' | 'reconnecting' | 'disconnected' | 'refused' | 'stopped'} State */
/** @typedef {{ code: string, reason: string }} Why */

/** A silent connection is checked after this time, so that its loss is known before a record needs it. */
const CHECK_MS = 5000;
/** Time beyond the client's own limits after which a call counts as failed. */
const GRACE_MS = 2000;
const NO_ANSWER = 'PLT_KFK_NETWORK';
/** Most requests of one connection without an answer: one with records, and some about the cluster. */
const REQUESTS = 64;
const METADATA_MS = 60000;

/**
 * @typedef {object} SessionParts
 * @property {Pick<import('../settings/kafka-options').ClusterOptions, 'connectTimeoutMs' | 'ackTimeoutMs' |
 *   'reconnectMinMs' | 'reconnectMaxMs'> & { replicated?: boolean }} options
 * @property {() => { producer: any, api: Api }} open makes a producer; throws an Error with a sentence
 * @property {() => void} onState
 * @property {() => void} onConnected
 * @property {() => number} now ms, monotonic
 */

/**
 * The connections of one producer to a cluster. It reports whether brokers answer, and makes a new producer when none
 * does.
 */
class ClusterSession {
  #attempt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {SessionParts} parts */
  constructor(parts) {
    this.parts = parts;
    const { reconnectMinMs, reconnectMaxMs } = parts.options;
    this.backoff = new Backoff(reconnectMinMs, reconnectMaxMs);
    /** @type {State} */
    this.state = 'stopped';
    /** @type {Why | null} */
    this.why = null;
    this.connects = 0;
    this.everConnected = false;
    /** @type {any} the client's producer */
    this.producer = null;
    /** Of the latest producer. @type {Api} */
    this.api = /** @type {any} */ (null);
    this.leaders = new Leaders();
    this.answeredAt = 0;
    this.isProbing = false;
    this.localAddress = '';
  }

  get isConnected() {
    return this.state === 'connected';
  }

  start() {
    this.#set('connecting', null);
    this.#connect();
  }

  /** @param {() => void} done */
  stop(done) {
    clearTimeout(this.#timer);
    this.#attempt++;
    this.#close();
    this.state = 'stopped';
    this.why = null;
    done();
  }

  /**
   * Gets the number of partitions of a topic, and who leads them.
   * @param {string} topic
   * @param {boolean} create the cluster may create the topic
   * @param {(error: unknown, partitions: number) => void} done
   */
  look(topic, create, done) {
    this.#call(
      (producer, callback) =>
        producer.metadata(
          { topics: [topic], autocreateTopics: create, forceUpdate: true, retries: 0 },
          callback
        ),
      (error, metadata) => {
        if (error) return done(error, 0);
        this.leaders.learn(metadata);
        const { partitionsCount: count = 0, partitions } = metadata.topics.get(topic) ?? {};
        if (count === 0 || !this.parts.options.replicated) return done(null, count);
        this.#checkReplicas(topic, partitions, metadata, (failure) => done(failure, failure ? 0 : count));
      }
    );
  }

  /**
   * @param {string} topic
   * @param {{ leader: number, replicas: number[] }[]} partitions
   * @param {any} metadata
   * @param {(error: unknown) => void} done
   */
  #checkReplicas(topic, partitions, { brokers }, done) {
    const broker = brokers.get(partitions[0].leader) ?? [...brokers.values()][0];
    this.#call(
      (producer, callback) =>
        producer.connections.get(broker, (/** @type {unknown} */ error, /** @type {any} */ connection) => {
          if (error) callback(error, undefined);
          else
            checkReplicas(this.api.client, connection, topic, partitions, (failure) =>
              callback(failure, undefined)
            );
        }),
      done
    );
  }

  /**
   * Sends one request to a broker.
   * @param {number} broker its id
   * @param {import('./produce-api').Part[]} parts
   * @param {(error: unknown, results: Map<string, import('./produce-api').Result>) => void} done
   */
  produce(broker, parts, done) {
    const { api } = this;
    this.#call(
      (producer, callback) =>
        producer.connections.get(
          this.leaders.broker(broker),
          (/** @type {unknown} */ error, /** @type {any} */ connection) => {
            if (error) callback(error, undefined);
            else api.send(connection, parts, callback);
          }
        ),
      done
    );
  }

  /**
   * Runs a call of the producer that ends once, whatever the client does.
   * @param {(producer: any, callback: (error: unknown, result: any) => void) => void} call
   * @param {(error: unknown, result: any) => void} done
   */
  #call(call, done) {
    const { producer } = this;
    if (!producer) return void setImmediate(done, noAnswer('There is no connection.'), undefined);
    const { connectTimeoutMs, ackTimeoutMs } = this.parts.options;
    let isDone = false;
    const end = (/** @type {unknown} */ error, /** @type {any} */ result) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      if (!error) this.answeredAt = this.parts.now();
      done(error, result);
    };
    const limitMs = 2 * connectTimeoutMs + ackTimeoutMs + GRACE_MS;
    const timer = setTimeout(() => end(noAnswer('No answer: timed out.'), undefined), limitMs);
    try {
      call(producer, end);
    } catch (error) {
      setImmediate(end, error, undefined);
    }
  }

  /**
   * A request failed because of the connection: finds out whether the cluster still answers.
   * @param {Meaning} meaning
   */
  suspect(meaning) {
    if (!this.isConnected) return;
    this.#probe(meaning);
  }

  /** Call it several times a second. */
  check() {
    if (this.isConnected && this.parts.now() - this.answeredAt > CHECK_MS) this.#probe(null);
  }

  /** @param {Meaning | null} cause */
  #probe(cause) {
    if (this.isProbing) return;
    this.isProbing = true;
    const attempt = this.#attempt;
    this.#reach((error) => {
      this.isProbing = false;
      if (attempt !== this.#attempt || !error) return;
      this.#lost(cause?.kind === 'access' ? cause : meaningOf(error));
    });
  }

  /**
   * Checks that a broker answers, and that one can be reached at the address that the cluster gives for it.
   * @param {(error: unknown) => void} done
   */
  #reach(done) {
    this.#call(
      (producer, callback) => producer.metadata({ topics: [], forceUpdate: true, retries: 0 }, callback),
      (error, metadata) => {
        if (error) return done(error);
        const brokers = [...metadata.brokers.values()];
        let open = brokers.length;
        let last = /** @type {unknown} */ (noAnswer('The cluster lists no brokers.'));
        let isReached = false;
        if (open === 0) return done(last);
        for (const broker of brokers) {
          this.#call(
            (producer, callback) => producer.connections.get(broker, callback),
            (failure, connection) => {
              open--;
              if (isReached) return;
              if (failure) {
                last = unreachable(broker, failure);
                if (open === 0) done(last);
                return;
              }
              isReached = true;
              this.localAddress = connection?.socket?.localAddress ?? '';
              done(null);
            }
          );
        }
      }
    );
  }

  #connect() {
    const attempt = ++this.#attempt;
    this.#close();
    this.isProbing = false;
    try {
      ({ producer: this.producer, api: this.api } = this.parts.open());
    } catch (error) {
      const { code = 'CLIENT', message } = /** @type {NodeJS.ErrnoException} */ (error);
      this.#set('refused', { code, reason: message });
      return this.#later(this.parts.options.reconnectMaxMs);
    }
    this.#reach((error) => {
      if (attempt !== this.#attempt) return;
      if (error) return this.#failed(meaningOf(error));
      this.#call(
        (producer, callback) => producer.listApis(callback),
        (failure, apis) => {
          if (attempt !== this.#attempt) return;
          if (failure) return this.#failed(meaningOf(failure));
          this.api.negotiate(apis);
          this.#connected();
        }
      );
    });
  }

  #connected() {
    this.connects++;
    this.everConnected = true;
    this.backoff.reset();
    this.leaders = new Leaders();
    this.#set('connected', null);
    this.parts.onConnected();
  }

  /** @param {Meaning} meaning */
  #failed(meaning) {
    this.#close();
    if (meaning.kind === 'access') {
      this.#set('refused', { code: meaning.code, reason: accessSentence(meaning) });
      return this.#later(this.parts.options.reconnectMaxMs);
    }
    const { code, detail } = meaning;
    this.#set('disconnected', {
      code,
      reason: `No broker of the Kafka cluster can be reached (${detail}). Trying again.`
    });
    this.#later(this.backoff.next());
  }

  /** @param {Meaning} meaning */
  #lost(meaning) {
    const { code, detail } = meaning;
    this.#close();
    this.#attempt++;
    this.#set('reconnecting', { code, reason: `The connection to the Kafka cluster was lost (${detail}).` });
    this.#later(this.backoff.next());
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), ms);
  }

  #close() {
    const { producer } = this;
    this.producer = null;
    this.localAddress = '';
    // Its requests fail. An error while it closes changes nothing.
    producer?.close(true, () => {});
  }

  /** @param {State} state @param {Why | null} why */
  #set(state, why) {
    this.state = state;
    this.why = why;
    this.parts.onState();
  }
}

/** @param {string} message */
function noAnswer(message) {
  return Object.assign(new Error(message), { code: NO_ANSWER });
}

/** @param {{ host: string, port: number }} broker @param {unknown} cause */
function unreachable({ host, port }, cause) {
  const { code, detail, kind } = meaningOf(cause);
  if (kind === 'access') return cause;
  const message = `${detail}; the cluster gives the address ${host}:${port}, see advertised.listeners of the broker`;
  return Object.assign(new Error(message), { code });
}

module.exports = { ClusterSession, METADATA_MS, REQUESTS };
