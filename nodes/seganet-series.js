'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('series');
const path = require('node:path');
const { Complaints } = require('./lib/base/complaints');
const { asError } = require('./lib/base/guard');
const { onInput } = require('./lib/base/message-input');
const { isBatch, toDeviceId, toPayload, toTimestamp, RecordError } = require('./lib/base/record');
const { Status, rate, shorten } = require('./lib/base/status');
const { leaveInert } = require('./lib/engine/join');
const { readSettings } = require('./lib/settings/migrations');
const { SeriesThread, addEndpoints, numbersOf, parseChoices, schema, seriesNodes } = require('./lib/series');

/** Longest text that the search takes, in UTF-16 units; the thread drops longer ones. */
const MAX_TEXT = 16384;

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  addEndpoints(RED, seriesNodes);

  /**
   * @this {import('./lib/series/endpoints').SeriesNode}
   * @param {import('node-red').NodeDef} config
   */
  function Series(config) {
    RED.nodes.createNode(this, config);
    seriesNodes.add(this);
    this.series = null;
    this.on('close', () => void seriesNodes.delete(this));
    const { values, problems, shown: why } = readSettings(config, schema);
    /** @type {import('./lib/series/numbers').Choice[]} */
    let choices = [];
    try {
      // A property that cannot be read has no value.
      choices = parseChoices(values.values ?? '');
    } catch (error) {
      problems.push(/** @type {Error} */ (error).message);
    }
    if (values.folder?.includes('\0')) problems.push('Folder must not contain NUL.');
    if (values.search !== 'off' && values.searchMiB * 2 > values.limitMiB)
      problems.push('Search limit must be at most half of Limit, which includes it.');
    if (problems.length > 0) return leaveInert(this, why || 'wrong setting', problems.join(' '));

    const { maxValues, names, search, folder } = values;
    const directory = path.resolve(
      folder || path.join(RED.settings.userDir || process.cwd(), 'seganet-series', this.id)
    );
    const { maxSeries, maxPoints, days, meansDays, limitMiB, searchMiB } = values;
    const thread = new SeriesThread({
      directory,
      maxSeries,
      maxPoints,
      days,
      meansDays,
      limitMiB,
      search,
      searchMiB
    });
    this.series = thread;
    const complaints = new Complaints((sentence) => this.error(sentence));
    const status = new Status(this);
    thread.on('problem', (sentence) => complaints.tell(sentence, sentence));
    thread.on('state', (state) => status.set(shownOf(state, thread.rate())));

    const options = { choices, maxValues, byTopic: names === 'topic' };
    this.numbers = options;
    onInput(this, (msg, send, done) => {
      if (isBatch(msg))
        throw new RecordError(
          'A batch arrived where records are expected. Wire an unbatch node before this one.'
        );
      const topic = typeof msg.topic === 'string' ? msg.topic : '';
      const found = numbersOf(msg.payload, topic, options);
      thread.left += found.left;
      const record = {
        device: toDeviceId(msg.deviceId),
        ts: toTimestamp(msg.ts),
        names: found.names,
        values: found.values,
        topic,
        text: search === 'off' ? null : textOf(msg.payload),
        held: Number(msg.payload?.length) || 0
      };
      if (record.names.length === 0 && search === 'off') {
        send(msg);
        return done();
      }
      thread.put(record, (error) => {
        if (error) return done(error);
        try {
          send(msg);
          done();
        } catch (thrown) {
          done(asError(thrown));
        }
      });
    });
    this.on('close', (/** @type {() => void} */ done) => {
      status.close();
      this.series = null;
      void thread.stop().finally(done);
    });
  }

  RED.nodes.registerType('seganet-series', Series);
};

/**
 * @param {import('./lib/series/series-thread').State} state
 * @param {number} perSecond points
 * @returns {import('./lib/base/status').Shown}
 */
function shownOf({ reason, series, isFull }, perSecond) {
  if (reason) return { fill: 'red', shape: 'ring', text: shorten(reason) };
  if (isFull) return { fill: 'red', shape: 'ring', text: 'limit reached' };
  const text = `${rate(perSecond)} points/s · ${rate(series)} series`;
  return { fill: perSecond > 0 ? 'green' : 'grey', shape: 'dot', text };
}

/**
 * @param {unknown} payload
 * @returns {string | null} null if it is not text, or too long
 */
function textOf(payload) {
  if (typeof payload === 'string') return payload.length > MAX_TEXT ? null : payload;
  const bytes = toPayload(payload);
  if (bytes.length > MAX_TEXT) return null;
  const text = bytes.toString('utf8');
  return text.includes('\0') || text.includes('\uFFFD') ? null : text;
}
