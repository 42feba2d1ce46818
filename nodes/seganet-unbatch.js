'use strict';

require('../native/node/needs-node');
const fs = require('node:fs');
const path = require('node:path');
const { KeyWindow } = require('./lib/unbatch/key-window');
const { asError } = require('./lib/base/guard');
const { eachSecond } = require('./lib/base/timing/each-second');
const { onInput } = require('./lib/base/message-input');
const { nodeIds } = require('./lib/base/node-config');
const { END, KEY, whenEnded } = require('./lib/engine/deliveries');
const { leaveInert } = require('./lib/engine/join');
const { integer, text } = require('./lib/base/options');
const { readSettings } = require('./lib/settings/migrations');
const { Status, rate } = require('./lib/base/status');
const { Dictionaries } = require('./lib/unbatch/dictionaries');
const { EnvelopeError } = require('./lib/unbatch/envelope-error');
const { readKeys, writeKeys } = require('./lib/unbatch/kept-keys');
const { GatewayTopics } = require('./lib/unbatch/gateway-topics');
const { isInFlow, removeLeftovers } = require('./lib/unbatch/leftovers');
const { OpenBatches } = require('./lib/unbatch/open-batches');
const {
  LAST_FORMAT,
  decompress,
  dictionaryIn,
  encodingOf,
  isRemoval
} = require('./lib/unbatch/payload-encoding');
const { parseKey } = require('./lib/unbatch/record-key');
const { SparkplugMessages } = require('./lib/unbatch/sparkplug-messages');
const { faultSentence, keyIn, open } = require('./lib/unbatch/unbatch');
const { WaitingMessages } = require('./lib/unbatch/waiting-messages');

/** In the user folder: the keys that were remembered at the last orderly end. */
const FOLDER = 'seganet-unbatch';
/** About 250 bytes each, so that a publisher that invents gateway ids cannot fill the memory. */
const MAX_KEYS = 250000;
/** Taken for the memory of a payload that is an object, which a node of the flow made. */
const OBJECT_BYTES = 4096;
/** Between two attempts to write dictionaries that are not on disk. */
const RETRY_MS = 10000;
/** Between two warnings about dictionaries that were removed: anybody who may publish can send many. */
const WARN_MS = 60000;

const schema = {
  window: integer(1, 1000000, 10000),
  lanes: integer(1, 100000, 1000),
  historySuffix: text('/history'),
  gatewayTopic: text('')
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Unbatch(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    /** @type {GatewayTopics} */
    let topics;
    try {
      topics = new GatewayTopics(values.gatewayTopic, values.historySuffix);
    } catch (error) {
      return leaveInert(this, why, asError(error).message);
    }
    const publisherOf = topics.areProof ? publisherOfLane : undefined;
    const seen = new KeyWindow(values.window, values.lanes, Math.max(MAX_KEYS, values.window), publisherOf);
    const file = keysFile(RED, this.id);
    if (file) {
      removeLeftovers(path.dirname(file), nodeIds(RED).add(this.id));
      readKeys(file, seen);
    }
    const batches = new OpenBatches((key) => seen.remove(key));
    const dictionaries = new Dictionaries(file && file.replace(/\.json$/, '-dictionaries'));
    const waiting = new WaitingMessages();
    const sparkplug = new SparkplugMessages();
    const status = new Status(this);
    let records = 0;
    let duplicates = 0;
    let refused = 0;
    let at = performance.now();
    let warnedAt = -Infinity;
    let triedAt = -Infinity;
    const endTicks = eachSecond(() => {
      const now = performance.now();
      if (now - triedAt > RETRY_MS) {
        triedAt = now;
        dictionaries.retry();
      }
      const perSecond = (records * 1000) / (now - at);
      [records, at] = [0, now];
      const dropped = duplicates > 0 ? ` · ${rate(duplicates)} duplicates dropped` : '';
      const tail = waiting.size > 0 ? ` · ${waiting.size} wait for a dictionary` : dropped;
      const unproven = refused > 0 ? ` · ${rate(refused)} refused` : '';
      status.set({
        fill: perSecond > 0 ? 'green' : 'grey',
        shape: 'dot',
        text: `${rate(perSecond)}/s${unproven}${tail}`
      });
    });

    onInput(this, (msg, send, done) => {
      const data = sparkplug.open(msg);
      if (data === 'consumed') return done();
      // One of several records is a piece, which is cut if it is too large, also when it is sent again. One of a single
      // record may be of a batch of mode records, whose parts contain each other in no way.
      if (data) return deliver(data, (data.envelope?.count ?? 0) > 1, msg, send, done);
      const dictionary = dictionaryIn(msg);
      if (dictionary) {
        const { problem, evicted } = dictionaries.add(dictionary);
        if (problem) this.warn(problem);
        if (evicted && performance.now() - warnedAt > WARN_MS) {
          warnedAt = performance.now();
          this.warn(evicted);
        }
        waiting.arrived();
        return done();
      }
      if (isRemoval(msg)) return done();
      // Before it waits for a dictionary, or is decompressed.
      if (!isAllowed(msg, null, done)) return;
      const encoded = encodingOf(msg);
      const hash = encoded?.dictionary ?? '';
      const missing = () => (hash !== '' && !dictionaries.get(hash) ? hash : '');
      const contents = () => (encoded ? { ...msg, payload: contentOf(encoded) } : msg);
      /** @type {string | null} */
      let known = null;
      const lane = () => {
        if (known === null && missing() === '') known = laneIn(msg, contents);
        return known ?? '';
      };
      const message = { topic: String(msg.topic ?? ''), hash, lane };
      const take = () => {
        const whole = contents();
        const opened = open(whole, values.historySuffix);
        known = laneOf(opened.key);
        waiting.passed(message);
        deliver(opened, opened.envelope !== null, whole, send, done);
      };
      if (missing() === '' && !waiting.isBehind(message)) return take();
      const guarded = () => {
        try {
          take();
        } catch (error) {
          done(asError(error));
        }
      };
      waiting.add({ ...message, bytes: bytesOf(msg.payload), missing, take: guarded, fail: done });
    });

    /** @param {import('./lib/unbatch/payload-encoding').Encoded} encoded whose dictionary is known */
    const contentOf = (encoded) => {
      const { format, encoding, dictionary, bytes } = encoded;
      if (format > LAST_FORMAT) throw new EnvelopeError(`The envelope has the unknown format ${format}.`);
      return encoding ? decompress(encoded, dictionary ? dictionaries.get(dictionary) : undefined) : bytes;
    };

    /**
     * Refuses a message whose topic is not that of its gateway.
     * @param {any} msg
     * @param {import('./lib/unbatch/record-key').Key | null} key
     * @param {(error?: Error) => void} done
     */
    const isAllowed = ({ topic }, key, done) => {
      const refusal = topics.refusal(topic, key);
      if (refusal === '') return true;
      refused++;
      done(new Error(refusal));
      return false;
    };

    /**
     * @param {import('./lib/unbatch/unbatch').Opened} opened
     * @param {boolean} isPiece see KeyWindow.has()
     * @param {any} msg
     * @param {(msg: any) => void} send
     * @param {(error?: Error) => void} done
     */
    const deliver = (opened, isPiece, msg, send, done) => {
      const { key, historical, envelope, trace, publisher = '' } = opened;
      if (!publisher && !isAllowed(msg, key, done)) return;
      const count = envelope ? envelope.count : 1;
      const damaged = envelope !== null && envelope.faults.length > 0;
      const own = key && ownKey(key, publisher);
      if (own && seen.has(own, count, isPiece)) {
        duplicates += count;
        return batches.repeat(own, done);
      }
      // The publisher may send a damaged envelope again, intact.
      if (own && !damaged) {
        seen.add(own, count);
        whenEnded(msg, () => {
          const ended = batches.open(own);
          return (end) => ended(end === END.DELIVERED);
        });
      }
      records += envelope ? envelope.records.length : 1;
      if (envelope) sendRecords(msg, send, opened, RED.util.generateId);
      else send(Object.assign(msg, trace, { batch: { ...key, index: 0, count, historical } }));
      done(damaged ? new Error(faultSentence(envelope)) : undefined);
    };
    this.on('close', (/** @type {boolean} */ removed, /** @type {() => void} */ done) => {
      // Node-RED removes a node that is only disabled, too; that one is still in the flow.
      const isRemoved = removed && !isInFlow(this.id, nodeIds(RED));
      endTicks();
      status.close();
      waiting.close();
      batches.abandon();
      try {
        if (isRemoved) dictionaries.remove();
        else dictionaries.retry();
        if (file && isRemoved) fs.rmSync(file, { force: true });
        else if (file && seen.size > 0) writeKeys(file, seen);
      } catch (error) {
        this.warn(`The keys of batches that arrived are not kept: ${/** @type {Error} */ (error).message}.`);
      }
      done();
    });
  }

  RED.nodes.registerType('seganet-unbatch', Unbatch);
};

/** Between a publisher and its gateway id in the name of a lane. No topic and no gateway id contains it. */
const OF = '+';

/**
 * Returns the key under which a batch is remembered. The topic of a Sparkplug edge node proves who published it, but
 * not the gateway id. So the keys of each edge node are remembered apart.
 * @param {import('./lib/unbatch/record-key').Key} key
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
 * @param {import('./lib/unbatch/record-key').Key | null} key
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

/** @param {import('node-red').NodeAPI} RED @param {string} id @returns {string} '' = there is no user folder */
function keysFile({ settings }, id) {
  const { userDir } = /** @type {{ userDir?: string }} */ (settings);
  return userDir ? path.join(userDir, FOLDER, `${encodeURIComponent(id)}.json`) : '';
}

/**
 * @param {Record<PropertyKey, any>} msg
 * @param {(msg: any) => void} send
 * @param {ReturnType<typeof open>} opened an envelope
 * @param {() => string} newId
 */
function sendRecords({ _msgid, [KEY]: followed }, send, { key, historical, envelope }, newId) {
  const { records = [], count = 0 } = envelope ?? {};
  const id = key?.key ?? newId();
  for (const [at, { index, ...record }] of records.entries()) {
    // The core join node waits for `count` messages, so lines that are not records must not count.
    const parts = { id, type: 'array', index: at, count: records.length };
    // The symbol survives nodes that give a message another id, such as split.
    send({
      _msgid,
      ...(followed && { [KEY]: followed }),
      ...record,
      batch: { ...key, index, count, historical },
      parts
    });
  }
}
