'use strict';
// Answers questions about the series: which there are, their latest values, and the points of a range. The work is cut
// into pieces, so that records are stored in between.

const { setImmediate: turn } = require('node:timers/promises');
const { mergePoints } = require('./block');
const { Pacer } = require('./pacer');
const { HOUR_MS, finite, hourOf } = require('./retention');

/** Hours that one piece reads, fewer if they have more points than this. */
const PIECE_HOURS = 48;
const PIECE_POINTS = 500000;
/** Series that a list looks at in one piece. */
const PIECE_SERIES = 1000;
const ANSWER_MS = 2000;
/** Longest work between two commits of records, beside that on one piece. */
const SLICE_MS = 20;

/**
 * @typedef {import('./open-blocks').Series} Series
 * @typedef {import('./series-store').SeriesStore} SeriesStore
 *
 * @typedef {object} Listed
 * @property {string} device
 * @property {string} name
 * @property {number} [ts] of the latest value
 * @property {number} [value]
 *
 * @typedef {{ from: number, to: number, step: number, limit: number }} Range from inclusive, to exclusive; step in ms,
 *   0 = the points themselves; limit: most rows
 *
 * @typedef {object} Columns the rows of one series, by column
 * @property {number[] | Float64Array} ts of a mean: the begin of its step
 * @property {number[] | Float64Array} value the mean, if the range has a step
 * @property {number[]} low only with a step, as the columns that follow
 * @property {number[]} high
 * @property {number[]} count
 *
 * @typedef {object} Answer
 * @property {{ device: string, name: string, columns: Columns }[]} series
 * @property {number | null} next time from which to ask for the rest of the last series, because the limit of rows or
 *   of time was met; null = all is there
 */

/**
 * @param {SeriesStore} store
 * @param {{ device: string, name: string }} filter '' = any
 * @returns {Series[]}
 */
function find(store, { device, name }) {
  if (!device) return [...store.series.values()].filter((series) => !name || series.name === name);
  const names = store.devices.get(device);
  if (!name) return [...(names?.values() ?? [])];
  const series = names?.get(name);
  return series ? [series] : [];
}

/**
 * @param {SeriesStore} store
 * @param {{ device: string, name: string }} filter
 * @returns {Iterable<Series>} by id
 */
function* inOrder(store, filter) {
  if (filter.device) yield* find(store, filter).sort((a, b) => a.id - b.id);
  else
    for (const series of store.series.values()) if (!filter.name || series.name === filter.name) yield series;
}

/**
 * @param {SeriesStore} store
 * @param {{ device: string, name: string, contains: string, after: number, limit: number, withValues: boolean }} page
 *   contains: text in device or name; after: number of the last series of the page before
 * @param {Pick<import('./pacer').Pacer, 'pause'>} [pacer]
 * @returns {Promise<{ series: Listed[], next: number | null }>}
 */
async function list(store, { contains, after, limit, withValues, ...filter }, pacer = new Pacer()) {
  const text = contains.toLowerCase();
  /** @type {Series[]} */
  const found = [];
  let looks = 0;
  for (const series of inOrder(store, filter)) {
    const { id, device, name } = series;
    if (id > after && (!text || `${device}|${name}`.toLowerCase().includes(text))) found.push(series);
    if (found.length > limit) break;
    if (++looks % PIECE_SERIES === 0) await pacer.pause();
  }
  const page = found.slice(0, limit);
  return {
    series: page.map(({ device, name, lastTime, lastValue }) =>
      withValues && lastTime > 0 ? { device, name, ts: lastTime, value: lastValue } : { device, name }
    ),
    next: found.length > limit ? page[page.length - 1].id : null
  };
}

/** The end of the latest range, by store. @type {WeakMap<SeriesStore, Promise<unknown>>} */
const ranges = new WeakMap();

/**
 * Answers one range of a store at a time: several would share the time between two commits.
 * @param {SeriesStore} store
 * @param {{ device: string, name: string }[]} wanted
 * @param {Range} asked
 * @param {number} [answerMs] after which the answer ends
 * @returns {Promise<Answer>} rejects with a RangeError if no step could be read in that time
 */
function range(store, wanted, asked, answerMs = ANSWER_MS) {
  const before = ranges.get(store) ?? Promise.resolve();
  const answer = before.then(() => answerRange(store, wanted, asked, answerMs));
  ranges.set(
    store,
    answer.catch(() => {})
  );
  return answer;
}

/**
 * @param {SeriesStore} store
 * @param {{ device: string, name: string }[]} wanted
 * @param {Range} range
 * @param {number} answerMs
 * @returns {Promise<Answer>}
 */
async function answerRange(store, wanted, { from, to, step, limit }, answerMs) {
  const time = new Time(answerMs);
  /** @type {Answer} */
  const answer = { series: [], next: null };
  let room = limit;
  for (const one of wanted.flatMap((filter) => find(store, filter))) {
    if (room <= 0 || (answer.series.length > 0 && time.isOver)) return { ...answer, next: from };
    const rows = new Rows(step, room);
    const isWhole = await read(store, one, { from, to, rows, time });
    if (isWhole) rows.finish();
    // The rest of the answer would begin where this one did.
    else if (answer.series.length === 0 && rows.length === 0 && rows.open)
      throw new RangeError(
        `The first step has more points than can be read in ${answerMs / 1000} s. Ask for a smaller step, or for one of whole hours.`
      );
    answer.series.push({ device: one.device, name: one.name, columns: rows.columns() });
    room -= rows.length;
    if (!isWhole) return { ...answer, next: rows.resumeAt ?? rows.open?.ts ?? rows.readTo };
    await time.pause();
  }
  return answer;
}

/** The time of one answer. */
class Time {
  /** @param {number} ms */
  constructor(ms) {
    this.end = performance.now() + ms;
    this.sliceEnd = performance.now() + SLICE_MS;
  }

  get isOver() {
    return performance.now() > this.end;
  }

  /** Lets records be stored if the work took long. */
  async pause() {
    if (performance.now() < this.sliceEnd) return;
    await turn();
    this.sliceEnd = performance.now() + SLICE_MS;
  }
}

/**
 * @param {SeriesStore} store
 * @param {Series} series
 * @param {{ from: number, to: number, rows: Rows, time: Time }} task
 * @returns {Promise<boolean>} false if the limit of rows or of time was met
 */
async function read(store, series, { from, to, rows, time }) {
  for (let at = from; at < to;) {
    const next = Math.min(to, nextPiece(store, series, at, to));
    readPiece(store, series, at, next, rows);
    at = rows.readTo = next;
    if (rows.isFull) return false;
    if (at >= to) break;
    if (time.isOver) return false;
    await time.pause();
  }
  return true;
}

/**
 * Returns the end of the piece that begins at `at`: it skips hours without values.
 * @param {SeriesStore} store
 * @param {Series} series
 * @param {number} at
 * @param {number} to
 */
function nextPiece(store, series, at, to) {
  const { hours } = statementsOf(store);
  const start = hourOf(at);
  const first = hours.first.get(series.id, start)?.start;
  const minute = hours.firstMinute.get(series.id, at - (at % 60000))?.start;
  const opens = [...series.blocks.keys()].filter((begin) => begin + 60000 > at);
  const begins = [first, minute, ...opens].filter((each) => each !== null && each !== undefined).map(Number);
  if (begins.length === 0) return to;
  const begin = hourOf(Math.max(start, Math.min(...begins)));
  let points = 0;
  for (const row of hours.counts.all(series.id, begin, begin + PIECE_HOURS * HOUR_MS)) {
    points += Number(row.count);
    if (points > PIECE_POINTS) return Number(row.start) + HOUR_MS;
  }
  return begin + PIECE_HOURS * HOUR_MS;
}

/** Statements of the reader, by database. @type {WeakMap<object, ReturnType<typeof prepare>>} */
const prepared = new WeakMap();

/** @param {SeriesStore} store */
function statementsOf(store) {
  const { db } = store.writable;
  const known = prepared.get(db) ?? prepare(db);
  prepared.set(db, known);
  return { hours: known };
}

/** @param {import('node:sqlite').DatabaseSync} db */
function prepare(db) {
  return {
    first: db.prepare('SELECT min(start) AS start FROM hour WHERE series = ? AND start >= ?'),
    firstMinute: db.prepare('SELECT min(start) AS start FROM minute WHERE series = ? AND start >= ?'),
    counts: db.prepare(
      'SELECT start, count FROM hour WHERE series = ? AND start >= ? AND start < ? ORDER BY start'
    ),
    means: db.prepare(
      'SELECT start, count, low, high, sum FROM hour WHERE series = ? AND start >= ? AND start < ? ORDER BY start'
    )
  };
}

/**
 * @param {SeriesStore} store
 * @param {Series} series
 * @param {number} from
 * @param {number} to
 * @param {Rows} rows
 */
function readPiece(store, series, from, to, rows) {
  const { statements } = store.writable;
  const byHours = rows.step > 0 && rows.step % HOUR_MS === 0;
  const minutes = statements.minutes.all(series.id, from - (from % 60000), to);
  const open = [...series.blocks.values()].filter(({ start }) => start + 60000 > from && start < to);
  const unsettled = new Set([...minutes, ...open].map(({ start }) => hourOf(Number(start))));
  const source = byHours ? statementsOf(store).hours.means : statements.hours;
  /** @type {Map<number, import('./block').Points[]>} */
  const parts = new Map();
  const add = (/** @type {number} */ start, /** @type {any} */ points) => {
    const hour = hourOf(start);
    parts.set(hour, [...(parts.get(hour) ?? []), points]);
  };
  /** @type {Map<number, any>} */
  const means = new Map();
  for (const row of source.all(series.id, hourOf(from), to)) {
    const start = Number(row.start);
    // An hour whose mean is settled need not be decoded, unless the range cuts it.
    const isWhole = start >= from && start + HOUR_MS <= to && !unsettled.has(start);
    const body = byHours ? !isWhole && statements.hour.get(series.id, start)?.body : row.body;
    const points = store.decode(body, start);
    if (points) add(start, points);
    else if (rows.step > 0 && start >= from) means.set(start, row);
  }
  for (const { start, body } of minutes) {
    const points = store.decode(body, Number(start));
    if (points) add(Number(start), points);
  }
  for (const block of open) add(block.start, block);
  const hours = new Set([...parts.keys(), ...means.keys()]);
  for (const hour of [...hours].sort((a, b) => a - b)) {
    const row = means.get(hour);
    if (row) rows.addMean(hour, row);
    const sources = parts.get(hour);
    if (sources) rows.addPoints(mergePoints(sources), from, to);
    if (rows.isFull) return;
  }
}

/** Collects the rows of one series. */
class Rows {
  /** @param {number} step @param {number} limit */
  constructor(step, limit) {
    this.step = step;
    this.limit = limit;
    this.means = { ts: [0], value: [0], low: [0], high: [0], count: [0] };
    for (const column of Object.values(this.means)) column.pop();
    /** Points that are rows themselves, without a step. @type {import('./block').Points[]} */
    this.pieces = [];
    this.length = 0;
    this.isFull = false;
    /** Where the rows end, if the limit was met. @type {number | null} */
    this.resumeAt = null;
    /** What is before this time was read. */
    this.readTo = 0;
    /** The step that is collected. @type {{ ts: number, low: number, high: number, sum: number, count: number } | null} */
    this.open = null;
  }

  /**
   * @param {import('./block').Points} points
   * @param {number} from
   * @param {number} to
   */
  addPoints({ times, values }, from, to) {
    const { step } = this;
    let i = 0;
    while (i < times.length && times[i] < from) i++;
    if (step === 0) {
      let end = times.length;
      while (end > i && times[end - 1] >= to) end--;
      this.#take(times.subarray(i, end), values.subarray(i, end));
      return;
    }
    while (i < times.length && times[i] < to && !this.isFull) {
      const end = times[i] - (times[i] % step) + step;
      const first = i;
      let [low, high, sum] = [values[i], values[i], 0];
      for (; i < times.length && times[i] < end && times[i] < to; i++) {
        const value = values[i];
        if (value < low) low = value;
        if (value > high) high = value;
        sum += value;
      }
      this.#collect(end - step, low, high, sum, i - first);
    }
  }

  /** @param {number} start @param {any} row of the table of hours */
  addMean(start, { count, low, high, sum }) {
    this.#collect(start - (start % this.step), Number(low), Number(high), Number(sum), Number(count));
  }

  /** @param {number} ts @param {number} low @param {number} high @param {number} sum @param {number} count */
  #collect(ts, low, high, sum, count) {
    const { open } = this;
    if (open?.ts === ts) {
      if (low < open.low) open.low = low;
      if (high > open.high) open.high = high;
      open.sum = finite(open.sum + sum);
      open.count += count;
      return;
    }
    this.finish();
    if (this.length >= this.limit) {
      this.isFull = true;
      this.resumeAt = ts;
    } else this.open = { ts, low, high, sum: finite(sum), count };
  }

  /** Ends the step that is collected. */
  finish() {
    const { open, means } = this;
    this.open = null;
    if (!open) return;
    means.ts.push(open.ts);
    // The sum may have been too large for a double.
    means.value.push(Math.max(open.low, Math.min(open.high, open.sum / open.count)));
    means.low.push(open.low);
    means.high.push(open.high);
    means.count.push(open.count);
    this.length++;
  }

  /** @param {Float64Array} times @param {Float64Array} values */
  #take(times, values) {
    const room = this.limit - this.length;
    if (times.length > room) {
      this.isFull = true;
      this.resumeAt = times[room];
    }
    this.pieces.push({ times: times.subarray(0, room), values: values.subarray(0, room) });
    this.length += Math.min(room, times.length);
  }

  /** @returns {Columns} of the steps that are finished */
  columns() {
    if (this.step > 0) return this.means;
    const [ts, value] = [new Float64Array(this.length), new Float64Array(this.length)];
    let at = 0;
    for (const { times, values } of this.pieces) {
      ts.set(times, at);
      value.set(values, at);
      at += times.length;
    }
    return { ts, value, low: [], high: [], count: [] };
  }
}

exports.Rows = Rows;
exports.list = list;
exports.range = range;
