'use strict';
// What happens to blocks with time: those of an hour become one block with its mean, points expire, then means.

const { encodeBlock, mergePoints } = require('./block');

const HOUR_MS = 3600000;
const DAY_MS = 86400000;
/** Time after its end at which an hour is merged. Later points are merged into it again. */
const SETTLE_MS = 300000;
const ROUND_MS = 60000;
/** Longest work between two commits of records. */
const SLICE_MS = 20;
/** A difference between the clocks that is a jump. */
const JUMP_MS = 3600000;
/** Nothing expires by age for this time after the clock jumped: it may jump back. */
const DISTRUST_MS = 3600000;

/** @typedef {import('./series-store').SeriesStore} SeriesStore */

class Retention {
  /** @param {SeriesStore} store */
  constructor(store) {
    this.store = store;
    /** Points before this time are gone, and are not taken. */
    this.keptFrom = 0;
    /** The limit is reached, and nothing can be deleted. */
    this.isFull = false;
    /** Bytes in use, at the last look. */
    this.bytes = 0;
    this.counters = { hours: 0, expiredHours: 0, expiredMeans: 0 };
    this.roundAt = 0;
    /** @type {Generator<void> | null} */
    this.round = null;
    /** The clocks at the last look. @type {{ wall: number, monotonic: number } | null} */
    this.seen = null;
    this.trustedAt = 0;
  }

  /**
   * Returns the time before which points are not taken.
   * @param {number} now
   */
  floor(now) {
    const goneBefore = this.goneBefore(now);
    return this.isTrusted ? Math.max(goneBefore, this.#ageLimit(now)) : goneBefore;
  }

  /**
   * Returns keptFrom, or 0 if it is ahead of the clock: then one of the clocks was wrong.
   * @param {number} now
   */
  goneBefore(now) {
    return isAhead(this.keptFrom, now) ? 0 : this.keptFrom;
  }

  get isTrusted() {
    return this.store.clock.monotonic() >= this.trustedAt;
  }

  /** @param {import('./series-database').SeriesDatabase} database that was just opened */
  load(database) {
    this.keptFrom = database.meta('keptFrom');
    this.bytes = database.usedBytes();
    const { wall, monotonic } = this.store.clock;
    const last = database.meta('seen');
    // The gateway was off for long, or its clock is not set yet.
    if (last > 0 && Math.abs(wall() - last) > DAY_MS) this.trustedAt = monotonic() + DISTRUST_MS;
    this.#checkFloor(database, wall());
    this.round = null;
  }

  /** Does some of the work. */
  tick() {
    const { monotonic } = this.store.clock;
    this.#watchClock();
    if (!this.round) {
      if (monotonic() < this.roundAt) return;
      this.roundAt = monotonic() + ROUND_MS;
      this.round = this.#work();
    }
    const end = performance.now() + SLICE_MS;
    while (performance.now() < end) {
      if (!this.round.next().done) continue;
      this.round = null;
      return;
    }
  }

  /** Does all of the work at once. */
  runAll() {
    this.#watchClock();
    const work = this.#work();
    while (!work.next().done);
  }

  #watchClock() {
    const { wall, monotonic } = this.store.clock;
    const now = { wall: wall(), monotonic: monotonic() };
    if (this.seen) {
      const passed = now.monotonic - this.seen.monotonic;
      if (Math.abs(now.wall - this.seen.wall - passed) > JUMP_MS) {
        this.trustedAt = now.monotonic + DISTRUST_MS;
        this.store.problem(
          'The clock of the gateway jumped by more than an hour. No points expire by their age for the next hour.'
        );
      }
    }
    this.seen = now;
    this.#checkFloor(this.store.writable, now.wall);
  }

  /**
   * Resets keptFrom if a clock that was ahead has let points of the present expire. No hour expires before it is over,
   * so one of the clocks was wrong. It may be that of the present, if it is not set yet: this waits until the clock is
   * trusted. Points are taken meanwhile (see goneBefore).
   * @param {import('./series-database').SeriesDatabase} database
   * @param {number} now
   */
  #checkFloor(database, now) {
    if (!this.isTrusted || !isAhead(this.keptFrom, now)) return;
    const day = new Date(this.keptFrom).toISOString().slice(0, 10);
    const keptFrom = Math.max(0, this.#ageLimit(now));
    database.transact(() => database.setMeta('keptFrom', keptFrom));
    this.keptFrom = keptFrom;
    this.store.problem(
      `Points up to ${day} have expired, which is ahead of the gateway's clock: a clock was wrong. Points of the present are stored again.`
    );
  }

  /** Each step is one transaction at most. @returns {Generator<void>} */
  *#work() {
    const { store } = this;
    const database = store.writable;
    const now = store.clock.wall();
    yield* this.#mergeHours(hourOf(now - SETTLE_MS));
    if (this.isTrusted) {
      // Not before: the gateway may be restarted several times before its clock is set.
      database.transact(() => database.setMeta('seen', now));
      yield* this.#expirePoints(this.#ageLimit(now));
      yield* this.#expireMeans(now);
    }
    yield* this.#shrink(hourOf(now));
    yield* this.#dropSeries();
  }

  /** @param {number} now */
  #ageLimit(now) {
    return hourOf(now - this.store.options.days * DAY_MS);
  }

  /**
   * Each transaction has as many hours as its time allows: a sync for each would take minutes with many series.
   * @param {number} before the begin of an hour
   */
  *#mergeHours(before) {
    const all = [...this.store.series.values()];
    for (let next = 0; next < all.length;) {
      this.store.writable.transact(() => {
        const end = performance.now() + SLICE_MS / 2;
        while (next < all.length && performance.now() < end) if (!this.#mergeNext(all[next], before)) next++;
      });
      yield;
    }
  }

  /**
   * @param {import('./open-blocks').Series} series
   * @param {number} before
   * @returns {boolean} false if the series has no such hour
   */
  #mergeNext({ id }, before) {
    const first = this.store.writable.statements.firstMinute.get(id)?.start;
    if (first === null || first === undefined || Number(first) >= before) return false;
    this.#mergeHour(id, hourOf(Number(first)));
    return true;
  }

  /** @param {number} series @param {number} start */
  #mergeHour(series, start) {
    const { minutes, deleteMinutes, hour, setHour } = this.store.writable.statements;
    const end = start + HOUR_MS;
    const before = hour.get(series, start);
    const old = this.store.decode(before?.body, start);
    const blocks = minutes
      .all(series, start, end)
      .flatMap((row) => this.store.decode(row.body, Number(row.start)) ?? []);
    const points = mergePoints(old ? [old, ...blocks] : blocks);
    this.store.counters.doubled += points.doubled;
    // An hour whose points have expired keeps its mean.
    const isKept = start >= this.goneBefore(this.store.clock.wall()) && before?.body !== null;
    if (!isKept) this.store.counters.old += points.times.length - (old?.times.length ?? 0);
    else if (points.times.length > 0) {
      const { low, high, sum } = sumOf(points.values);
      setHour.run(series, start, points.times.length, low, high, sum, encodeBlock(points, start));
      this.counters.hours++;
    }
    deleteMinutes.run(series, start, end);
  }

  /** @param {number} before the begin of an hour */
  *#expirePoints(before) {
    while (this.keptFrom < before) {
      const next = this.#oldestHour(this.keptFrom);
      const start = next === null || next >= before ? before : next;
      this.#expireHour(start === before ? before - HOUR_MS : start);
      yield;
    }
  }

  /** Deletes the points of an hour, and of all hours before. @param {number} start */
  #expireHour(start) {
    const database = this.store.writable;
    const keepsMeans = this.store.options.meansDays > 0;
    database.transact(() => {
      const { changes } = database.statements[keepsMeans ? 'dropBodies' : 'dropHours'].run(start);
      this.counters.expiredHours += Number(changes);
      database.setMeta('keptFrom', start + HOUR_MS);
    });
    this.keptFrom = start + HOUR_MS;
  }

  /** @param {number} now */
  *#expireMeans(now) {
    const { days, meansDays } = this.store.options;
    const before = hourOf(now - Math.max(days, meansDays) * DAY_MS);
    for (let start = this.#oldestHour(0); start !== null && start < before; start = this.#oldestHour(start)) {
      this.#dropMeans(start);
      yield;
    }
  }

  /** @param {number} start */
  #dropMeans(start) {
    const database = this.store.writable;
    database.transact(() => {
      this.counters.expiredMeans += Number(database.statements.dropHours.run(start).changes);
    });
  }

  /**
   * Deletes the oldest points, then the oldest means, until the database is within its limit.
   * @param {number} present hour, of which nothing is deleted
   */
  *#shrink(present) {
    const limit = this.store.options.limitMiB * 2 ** 20;
    for (;;) {
      this.bytes = this.store.writable.usedBytes();
      if (this.bytes <= limit) break;
      const points = this.#oldestHour(this.keptFrom);
      const means = this.#oldestHour(0);
      if (points !== null && points < present) this.#expireHour(points);
      else if (means !== null && means < present) this.#dropMeans(means);
      else break;
      yield;
    }
    this.isFull = this.bytes > limit;
  }

  /** Frees the names of series whose values are all gone. */
  *#dropSeries() {
    const { hasRows } = this.store.writable.statements;
    const now = this.store.clock.wall();
    for (const series of [...this.store.series.values()]) {
      if (series.blocks.size > 0 || (series.lastTime >= this.keptFrom && series.lastTime > now - DAY_MS))
        continue;
      if (Number(hasRows.get(series.id)?.has) === 0)
        this.store.writable.transact(() => this.store.deleteSeries([series]));
      yield;
    }
  }

  /** @param {number} from @returns {number | null} */
  #oldestHour(from) {
    const start = this.store.writable.statements.oldestHour.get(from)?.start;
    return start === null || start === undefined ? null : Number(start);
  }
}

/**
 * True if points of the present would not be taken.
 * @param {number} keptFrom
 * @param {number} now
 */
function isAhead(keptFrom, now) {
  return keptFrom > now + HOUR_MS;
}

/** @param {number} time */
function hourOf(time) {
  return time - (time % HOUR_MS);
}

/** @param {Float64Array} values */
function sumOf(values) {
  let [low, high, sum] = [Infinity, -Infinity, 0];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
    sum += value;
  }
  return { low, high, sum: finite(sum) };
}

/**
 * Returns the sum of finite numbers, which may be infinite, as a finite one: the database cannot keep infinity apart
 * from a missing value.
 * @param {number} sum
 */
function finite(sum) {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum));
}

exports.HOUR_MS = HOUR_MS;
exports.Retention = Retention;
exports.finite = finite;
exports.hourOf = hourOf;
