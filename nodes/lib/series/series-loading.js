'use strict';
// Reads what a database of series has into memory: the series with their latest values, and the points of the journal.

const { shown } = require('../base/values');
const { readJournal } = require('./journal');
const { Series } = require('./open-blocks');

/**
 * @typedef {import('./series-database').SeriesDatabase} SeriesDatabase
 * @typedef {import('./series-store').SeriesStore} SeriesStore
 */

/**
 * Makes the memory of a store fit a database that was just opened: at the start, after a failure of the connection, or
 * because the one before was damaged. Points in memory stay, because they are acknowledged.
 * @param {SeriesStore} store
 * @param {SeriesDatabase} database
 */
function loadSeries(store, database) {
  const rows = database.statements.allSeries.all();
  const before = [...store.series.values()];
  store.series.clear();
  store.devices.clear();
  keepSeries(
    store,
    database,
    before,
    new Map(rows.map(({ id, device, name }) => [`${device}|${name}`, Number(id)]))
  );
  for (const { id, device, name } of rows) {
    if (store.series.has(Number(id))) continue;
    readLatest(store, database, store.remember(new Series(Number(id), String(device), String(name))));
  }
  store.retention.load(database);
  const isNew = rows.length === 0;
  // The rows that the blocks in memory come from were in the database before.
  if (isNew) store.lastJournal = 0;
  replay(store, database);
  store.text.load(database);
  if (isNew && store.open.points > 0) writeAll(store, database);
}

/**
 * Gives the series in memory their ids. One without an id and without points in memory is gone.
 * @param {SeriesStore} store
 * @param {SeriesDatabase} database
 * @param {Series[]} before
 * @param {Map<string, number>} ids by device and name
 */
function keepSeries(store, database, before, ids) {
  database.transact(() => {
    for (const series of before) {
      const { device, name } = series;
      let id = ids.get(`${device}|${name}`);
      if (id === undefined && series.blocks.size === 0) continue;
      id ??= Number(database.statements.insertSeries.get(device, name)?.id);
      store.remember(Object.assign(series, { id }));
    }
  });
}

/** @param {SeriesStore} store @param {SeriesDatabase} database @param {Series} series */
function readLatest(store, { statements }, series) {
  for (const row of [statements.lastMinute.get(series.id), statements.lastHour.get(series.id)]) {
    const points = row && store.decode(row.body, Number(row.start));
    const last = points ? points.times.length - 1 : -1;
    if (!points || points.times[last] < series.lastTime) continue;
    series.lastTime = points.times[last];
    series.lastValue = points.values[last];
  }
}

/** Takes the rows of the journal that are not in memory. @param {SeriesStore} store @param {SeriesDatabase} database */
function replay(store, database) {
  const at = { journal: 0, nowMs: store.clock.monotonic() };
  const goneBefore = store.retention.goneBefore(store.clock.wall());
  for (;;) {
    const row = database.statements.journalAfter.get(store.lastJournal);
    if (!row) return;
    at.journal = store.lastJournal = Number(row.id);
    const isWhole = readJournal(/** @type {Uint8Array} */ (row.body), (id, time, value) => {
      const series = store.series.get(id);
      if (!series || !Number.isFinite(value) || !(time >= goneBefore)) return;
      store.open.add(series, time, value, at);
      if (time < series.lastTime) return;
      series.lastTime = time;
      series.lastValue = value;
    });
    if (isWhole) continue;
    store.counters.damagedBlocks++;
    store.problem(
      `A row of the journal of the series in ${shown(store.options.directory)} is damaged. Its points are lost.`
    );
  }
}

/** Writes all points in memory. @param {SeriesStore} store @param {SeriesDatabase} database */
function writeAll(store, database) {
  const blocks = [...store.open.blocks];
  store.database = database;
  store.reason = '';
  database.transact(() => store.writeBlocks(blocks));
  store.open.close(blocks);
}

module.exports = { loadSeries };
