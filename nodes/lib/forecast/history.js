'use strict';
// Teaches a forecast node that has learned nothing what series nodes have stored, so that its forecasts are trusted at
// once if that is enough. Records pass unscored meanwhile.
//
// The history ends where the current slot begins, and what precedes that is over for the node afterwards. So no value
// is learned twice: values of the history are of earlier slots, and records of those slots are late.

const { nameOf, parsePath } = require('../series');

/** Seasons that are learned. Older ones change little. */
const SEASONS = 8;
/** The rest begins with nothing learned after this long, ms. */
const MAX_MS = 60000;
/** Values that the engine learns at once: a few ms of Node-RED's thread. */
const PORTION = 20000;
/** Interval at which it is noticed that the time is over while a series thread does not answer. */
const CHECK_MS = 100;
/** Topics that are read at once, and most of all: the list of them is in memory. */
const PAGE = 1000;
const MAX_TOPICS = 100000;

/**
 * @typedef {import('../../../native/index.js').Engine} Engine
 * @typedef {import('../../../native/index.js').ForecastSettings} ForecastSettings
 * @typedef {import('../series/endpoints').SeriesNode} SeriesNode
 * @typedef {Pick<import('../series/series-thread').SeriesThread, 'points' | 'topics'>} History
 * @typedef {{ device: string, topic: string, name: string, history: History }} Wanted
 *
 * @typedef {object} Taught
 * @property {number} done series
 * @property {number} of
 * @property {number} values
 * @property {'' | 'time' | 'room' | 'model' | 'gone' | 'failed'} end why it ended before the last series; '' = it did
 *   not; model: the stage has another one now; gone: there is no such stage, or it has begun
 * @property {string} failure a sentence for 'failed'
 *
 * @typedef {object} Options
 * @property {() => Iterable<SeriesNode>} seriesNodes
 * @property {(taught: Taught) => void} [onProgress] called after each series
 * @property {() => boolean} [isOver] true: the rest is not wanted any more
 * @property {() => number} [now] ms since 1970
 * @property {number} [maxMs]
 */

/**
 * Waits for series threads, but not for longer than anybody wants: one whose disk hangs never answers.
 * @param {() => boolean} isOver
 */
function patience(isOver) {
  const over = Symbol('over');
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const end = new Promise((resolve) => {
    timer = setInterval(() => isOver() && resolve(over), CHECK_MS);
  });
  return {
    over,
    /** @template T @param {Promise<T>} answer @returns {Promise<T>} rejects with `over` */
    of: async (answer) => {
      const first = await Promise.race([answer, end]);
      if (first === over) throw over;
      return /** @type {T} */ (first);
    },
    close: () => clearInterval(timer)
  };
}

/**
 * Returns the begin of the current slot, as native/core/forecast/season_model.cc counts slots.
 * @param {number} now ms
 * @param {{ periodS: number, slots: number }} season
 */
function slotBegin(now, { periodS, slots }) {
  const periodMs = periodS * 1000;
  return Math.ceil((Math.floor((now * slots) / periodMs) * periodMs) / slots);
}

/**
 * @param {Pick<Engine, 'teachForecast'>} engine
 * @param {number} stage that has not begun
 * @param {Required<Pick<ForecastSettings, 'path' | 'periodS' | 'slots' | 'maxSeries'>> & ForecastSettings} settings
 * @param {Options} options
 * @returns {Promise<Taught>} never rejects
 */
async function teachHistory(engine, stage, settings, { seriesNodes, ...options }) {
  const { onProgress = () => {}, isOver = () => false, now = Date.now, maxMs = MAX_MS } = options;
  const deadline = performance.now() + maxMs;
  const isLate = () => performance.now() > deadline;
  const wait = patience(() => isOver() || isLate());
  const until = slotBegin(now(), settings);
  const begin = Math.max(0, until - SEASONS * settings.periodS * 1000);
  /** @type {Taught} */
  const taught = { done: 0, of: 0, values: 0, end: '', failure: '' };
  /** @param {Wanted} wanted @returns {Promise<number>} values */
  const teach = async ({ device, topic, name, history }) => {
    let values = 0;
    for (let from = begin; !isOver();) {
      const page = await wait.of(history.points({ device, name }, { from, to: until, limit: PORTION }));
      if (page.times.length > 0 || values > 0) {
        const { times, values: numbers, next } = page;
        const result = engine.teachForecast(
          stage,
          settings,
          { device, topic },
          times,
          numbers,
          next ?? until
        );
        if (result !== 'done') {
          taught.end = result === 'full' ? 'room' : result === 'other' ? 'model' : 'gone';
          return values;
        }
      }
      values += page.times.length;
      if (page.next === null) return values;
      if (isLate()) {
        taught.end = 'time';
        return values;
      }
      from = page.next;
    }
    return values;
  };
  try {
    const all = await wait.of(wantedOf(seriesNodes(), settings.path, isOver));
    taught.of = all.size;
    for (const wanted of all.values()) {
      if (isLate()) taught.end = 'time';
      if (taught.end || isOver()) break;
      // The first node that has values of a series is the one that counts.
      for (const each of wanted) {
        const values = await teach(each);
        taught.values += values;
        if (values > 0 || taught.end || isOver()) break;
      }
      if (taught.end || isOver()) break;
      taught.done++;
      onProgress(taught);
    }
  } catch (error) {
    if (error === wait.over) taught.end = isOver() ? '' : 'time';
    else {
      taught.end = 'failed';
      taught.failure = /** @type {Error} */ (error).message;
    }
  } finally {
    wait.close();
  }
  return taught;
}

/**
 * Returns the series that the nodes may have of what the stage forecasts.
 * @param {Iterable<SeriesNode>} nodes
 * @param {string} path of the value
 * @param {() => boolean} isOver
 * @returns {Promise<Map<string, Wanted[]>>} by device and topic: what each node has
 */
async function wantedOf(nodes, path, isOver) {
  /** @type {Map<string, Wanted[]>} */
  const all = new Map();
  const keys = keysOf(path);
  for (const { series: history, numbers } of keys ? nodes : []) {
    if (!history || !numbers) continue;
    /** By the name in the node, which several topics of a device may share. @type {Map<string, Wanted | null>} */
    const named = new Map();
    let after = { device: '', topic: '' };
    for (let isMore = true; isMore && !isOver() && named.size < MAX_TOPICS;) {
      const topics = await history.topics(after, PAGE);
      for (const { device, topic } of topics) {
        const name = nameOf(topic, /** @type {(string | number)[]} */ (keys), numbers);
        if (name === null) continue;
        const key = JSON.stringify([device, name]);
        named.set(key, named.has(key) ? null : { device, topic, name, history });
      }
      isMore = topics.length === PAGE;
      after = topics.at(-1) ?? after;
    }
    for (const wanted of named.values()) {
      if (!wanted) continue;
      const key = JSON.stringify([wanted.device, wanted.topic]);
      const known = all.get(key);
      if (known) known.push(wanted);
      else if (all.size < MAX_TOPICS) all.set(key, [wanted]);
    }
  }
  return all;
}

/** @param {string} path @returns {(string | number)[] | null} null: the series nodes have no such path */
function keysOf(path) {
  try {
    return parsePath(path);
  } catch {
    return null;
  }
}

module.exports = { PORTION, SEASONS, slotBegin, teachHistory };
