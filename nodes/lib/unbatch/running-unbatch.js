'use strict';
// What an unbatch node does with its messages: envelopes become records, what arrived before is dropped, and messages
// whose dictionary is missing wait.

const fs = require('node:fs');
const path = require('node:path');
const { asError } = require('../base/guard');
const { Status, rate } = require('../base/status');
const { eachSecond } = require('../base/timing/each-second');
const { Dictionaries } = require('./dictionaries');
const { EnvelopeError } = require('./envelope-error');
const { readKeys, writeKeys } = require('./kept-keys');
const { KeyWindow } = require('./key-window');
const { KnownRecords } = require('./known-records');
const { removeLeftovers } = require('./leftovers');
const { OpenBatches } = require('./open-batches');
const { LAST_FORMAT, decompress, dictionaryIn, encodingOf, isRemoval } = require('./payload-encoding');
const { parseKey } = require('./record-key');
const { SparkplugMessages } = require('./sparkplug-messages');
const { faultSentence, keyIn, open } = require('./unbatch');
const { WaitingMessages } = require('./waiting-messages');

/** About 250 bytes each, so that a publisher that invents gateway ids cannot fill the memory. */
const MAX_KEYS = 250000;
/** Taken for the memory of a payload that is an object, which a node of the flow made. */
const OBJECT_BYTES = 4096;
/** Between two attempts to write dictionaries that are not on disk. */
const RETRY_MS = 10000;
/** Between two warnings about dictionaries that were removed: anybody who may publish can send many. */
const WARN_MS = 60000;
/** Between a publisher and its gateway id in the name of a lane. No topic and no gateway id contains it. */
const OF = '+';

/**
 * @typedef {import('./record-key').Key} Key
 * @typedef {import('../base/message-input').Done} Done
 * @typedef {(msg: any) => void} Send
 *
 * @typedef {object} UnbatchParts
 * @property {import('node-red').Node} node
 * @property {{ window: number, lanes: number, historySuffix: string, copies: 'batches' | 'records' }} settings
 * @property {import('./gateway-topics').GatewayTopics} topics
 * @property {string} file with the keys that were remembered at the last orderly end; '' = keys are not kept
 * @property {Set<string>} ids of all nodes of the flow file
 * @property {() => string} newId
 * @property {(msg: any, begin: () => (isDelivered: boolean) => void) => void} watch calls `begin` if the flow reports
 *   how the delivery of the message ends, and then what it returned
 * @property {(msg: any) => object} inherited what a record takes over from the message with its envelope
 */

class RunningUnbatch {
  #parts;
  #topics;
  #seen;
  #batches;
  /** Null: only copies of batches are recognized. @type {KnownRecords | null} */
  #known;
  #dictionaries;
  #waiting = new WaitingMessages();
  #sparkplug = new SparkplugMessages();
  #status;
  #records = 0;
  #duplicates = 0;
  #refused = 0;
  #at = performance.now();
  #warnedAt = -Infinity;
  #triedAt = -Infinity;
  #endTicks;

  /** @param {UnbatchParts} parts */
  constructor(parts) {
    const { file, ids, node, settings, topics } = parts;
    const { window, lanes } = settings;
    this.#parts = parts;
    this.#topics = topics;
    const publisherOf = topics.areProof ? publisherOfLane : undefined;
    this.#seen = new KeyWindow(window, lanes, Math.max(MAX_KEYS, window), publisherOf);
    if (file) {
      removeLeftovers(path.dirname(file), new Set(ids).add(node.id));
      readKeys(file, this.#seen);
    }
    this.#batches = new OpenBatches((key) => this.#seen.remove(key));
    this.#known =
      settings.copies === 'records'
        ? new KnownRecords(this.#seen, (batch, done) => this.#batches.repeat(batch, done))
        : null;
    this.#dictionaries = new Dictionaries(file && file.replace(/\.json$/, '-dictionaries'));
    this.#status = new Status(node);
    this.#endTicks = eachSecond(() => this.#tick());
  }

  #tick() {
    const now = performance.now();
    if (now - this.#triedAt > RETRY_MS) {
      this.#triedAt = now;
      this.#dictionaries.retry();
    }
    const perSecond = (this.#records * 1000) / (now - this.#at);
    [this.#records, this.#at] = [0, now];
    const dropped = this.#duplicates > 0 ? ` · ${rate(this.#duplicates)} duplicates dropped` : '';
    const tail = this.#waiting.size > 0 ? ` · ${this.#waiting.size} wait for a dictionary` : dropped;
    const unproven = this.#refused > 0 ? ` · ${rate(this.#refused)} refused` : '';
    this.#status.set({
      fill: perSecond > 0 ? 'green' : 'grey',
      shape: 'dot',
      text: `${rate(perSecond)}/s${unproven}${tail}`
    });
  }

  /**
   * Takes a message of the node. Throws an error for one that it cannot open.
   * @param {any} msg
   * @param {Send} send
   * @param {Done} done
   */
  take(msg, send, done) {
    const data = this.#sparkplug.open(msg);
    if (data === 'consumed') return done();
    // One of several records is a piece, which is cut if it is too large, also when it is sent again. One of a single
    // record may be of a batch of mode records, whose parts contain each other in no way.
    if (data) return this.#deliver(data, (data.envelope?.count ?? 0) > 1, msg, send, done);
    const dictionary = dictionaryIn(msg);
    if (dictionary) {
      this.#addDictionary(dictionary);
      return done();
    }
    if (isRemoval(msg)) return done();
    // Before it waits for a dictionary, or is decompressed.
    if (!this.#isAllowed(msg, null, done)) return;
    const encoded = encodingOf(msg);
    const hash = encoded?.dictionary ?? '';
    const missing = () => (hash !== '' && !this.#dictionaries.get(hash) ? hash : '');
    const contents = () => (encoded ? { ...msg, payload: this.#contentOf(encoded) } : msg);
    /** @type {string | null} */
    let known = null;
    const lane = () => {
      if (known === null && missing() === '') known = laneIn(msg, contents);
      return known ?? '';
    };
    const message = { topic: String(msg.topic ?? ''), hash, lane };
    const take = () => {
      const whole = contents();
      const opened = open(whole, this.#parts.settings.historySuffix);
      known = laneOf(opened.key);
      this.#waiting.passed(message);
      this.#deliver(opened, opened.envelope !== null, whole, send, done);
    };
    if (missing() === '' && !this.#waiting.isBehind(message)) return take();
    const guarded = () => {
      try {
        take();
      } catch (error) {
        done(asError(error));
      }
    };
    this.#waiting.add({ ...message, bytes: bytesOf(msg.payload), missing, take: guarded, fail: done });
  }

  /** @param {NonNullable<ReturnType<typeof dictionaryIn>>} dictionary */
  #addDictionary(dictionary) {
    const { node } = this.#parts;
    const { problem, evicted } = this.#dictionaries.add(dictionary);
    if (problem) node.warn(problem);
    if (evicted && performance.now() - this.#warnedAt > WARN_MS) {
      this.#warnedAt = performance.now();
      node.warn(evicted);
    }
    this.#waiting.arrived();
  }

  /** @param {import('./payload-encoding').Encoded} encoded whose dictionary is known */
  #contentOf(encoded) {
    const { format, encoding, dictionary, bytes } = encoded;
    if (format > LAST_FORMAT) throw new EnvelopeError(`The envelope has the unknown format ${format}.`);
    return encoding
      ? decompress(encoded, dictionary ? this.#dictionaries.get(dictionary) : undefined)
      : bytes;
  }

  /**
   * Refuses a message whose topic is not that of its gateway.
   * @param {any} msg
   * @param {Key | null} key
   * @param {Done} done
   */
  #isAllowed({ topic }, key, done) {
    const refusal = this.#topics.refusal(topic, key);
    if (refusal === '') return true;
    this.#refused++;
    done(new Error(refusal));
    return false;
  }

  /**
   * @param {import('./unbatch').Opened} opened
   * @param {boolean} isPiece see KeyWindow.has()
   * @param {any} msg
   * @param {Send} send
   * @param {Done} done
   */
  #deliver(opened, isPiece, msg, send, done) {
    const { newId, inherited, watch } = this.#parts;
    const { key, historical, envelope, trace, publisher = '' } = opened;
    if (!publisher && !this.#isAllowed(msg, key, done)) return;
    const count = envelope ? envelope.count : 1;
    const damaged = envelope !== null && envelope.faults.length > 0;
    const own = key && ownKey(key, publisher);
    if (own && this.#seen.has(own, count, isPiece)) {
      this.#duplicates += count;
      return this.#batches.repeat(own, done);
    }
    const known = this.#known;
    const taken = envelope && known && own && !damaged ? known.take(envelope.records) : null;
    const records = taken?.fresh ?? envelope?.records ?? [];
    // The publisher may send a damaged envelope again, intact.
    if (own && !damaged) {
      this.#seen.add(own, count);
      watch(msg, () => {
        const ends = [this.#batches.open(own)];
        if (known && taken) ends.push(known.open(taken.keys, own));
        return (isDelivered) => {
          for (const end of ends) end(isDelivered);
        };
      });
    }
    this.#records += envelope ? records.length : 1;
    this.#duplicates += envelope ? envelope.records.length - records.length : 0;
    if (envelope) sendRecords(inherited(msg), send, { ...opened, envelope: { ...envelope, records } }, newId);
    else send(Object.assign(msg, trace, { batch: { ...key, index: 0, count, historical } }));
    if (damaged) done(new Error(faultSentence(envelope)));
    else if (known && taken) known.await(taken.batches, done);
    else done();
  }

  /** @param {boolean} isRemoved the node is no longer in the flow */
  close(isRemoved) {
    const { file, node } = this.#parts;
    this.#endTicks();
    this.#status.close();
    this.#waiting.close();
    this.#batches.abandon();
    try {
      if (isRemoved) this.#dictionaries.remove();
      else this.#dictionaries.retry();
      if (file && isRemoved) fs.rmSync(file, { force: true });
      else if (file && this.#seen.size > 0) writeKeys(file, this.#seen);
    } catch (error) {
      node.warn(`The keys of batches that arrived are not kept: ${/** @type {Error} */ (error).message}.`);
    }
  }
}

/**
 * Returns the key under which a batch is remembered. The topic of a Sparkplug edge node proves who published it, but
 * not the gateway id. So the keys of each edge node are remembered apart.
 * @param {Key} key
 * @param {string} publisher '' = the gateway of the key
 */
function ownKey(key, publisher) {
  return publisher === '' ? key : { ...key, gateway: `${publisher}${OF}${key.gateway}` };
}

/** @param {string} lane of a KeyWindow @returns {string} who publishes it, if topics are proof */
function publisherOfLane(lane) {
  return lane.includes(OF) ? lane.slice(0, lane.indexOf(OF)) : lane.slice(0, lane.indexOf('/'));
}

/**
 * Returns whose records a message has. They have an order among themselves only.
 * @param {Key | null} key
 * @returns {string} gateway and class, '' = unknown
 */
function laneOf(key) {
  return key ? `${key.gateway}/${key.lane}` : '';
}

/**
 * The same for a message that was not opened yet.
 * @param {any} msg
 * @param {() => any} contents decompresses it
 */
function laneIn(msg, contents) {
  const [own] = [msg.userProperties?.['seganet-key'] ?? ''].flat();
  try {
    return laneOf(parseKey(own) ?? keyIn(contents().payload));
  } catch {
    return ''; // it fails when its turn comes
  }
}

/** @param {unknown} payload @returns {number} about as much memory as it takes */
function bytesOf(payload) {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  return ArrayBuffer.isView(payload) ? payload.byteLength : OBJECT_BYTES;
}

/**
 * @param {object} inherited
 * @param {Send} send
 * @param {ReturnType<typeof open>} opened an envelope
 * @param {() => string} newId
 */
function sendRecords(inherited, send, { key, historical, envelope }, newId) {
  const { records = [], count = 0 } = envelope ?? {};
  const id = key?.key ?? newId();
  for (const [at, { index, ...record }] of records.entries()) {
    // The core join node waits for `count` messages, so lines that are not records must not count.
    const parts = { id, type: 'array', index: at, count: records.length };
    send({ ...inherited, ...record, batch: { ...key, index, count, historical }, parts });
  }
}

exports.RunningUnbatch = RunningUnbatch;
