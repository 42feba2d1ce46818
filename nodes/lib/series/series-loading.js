'use strict';
// Reads what a database of series has into memory: the series with their latest values, and the points of the journal.
// Any statement may fail. Then memory is as before, and so is what it needs from the next database.

const { shown } = require('../base/values');
const { identity } = require('../store/log-folder');
const { readJournal } = require('./journal');
const { Series } = require('./open-blocks');

/**
 * @typedef {import('./series-database').SeriesDatabase} SeriesDatabase
 * @typedef {import('./series-store').SeriesStore} SeriesStore
 * @typedef {Map<string, Map<string, number>>} Ids by device, then by name
 */

/**
 * Makes the memory of a store fit a database that was just opened: at the start, after a failure of the connection, or
 * because the one before was damaged. Points in memory stay, because they are acknowledged.
 * @param {SeriesStore} store
 * @param {SeriesDatabase} database
 */
function loadSeries(store, database) {
  const home = identity(database.file);
  const rows = database.statements.allSeries.all();
  const ids = idsOf(rows);
  const isOwn = store.home === home && isOfMemory(store, database, ids);
  const fresh = rows
    .filter(({ device, name }) => !store.devices.get(String(device))?.has(String(name)))
    .map(({ id, device, name }) => new Series(Number(id), String(device), String(name)));
  for (const series of fresh) readLatest(store, database, series);
  if (!isOwn) carryOver(store, database, ids);
  // Only now: ids and blocks in memory are those of the database before until the points are in this one.
  exchangeSeries(store, fresh, ids);
  if (!isOwn) {
    store.open.close([...store.open.blocks]);
    store.lastJournal = 0;
    store.home = home;
  }
  store.retention.load(database);
  replay(store, database);
  store.text.load(database);
}

/** @param {Record<string, unknown>[]} rows @returns {Ids} */
function idsOf(rows) {
  /** @type {Ids} */
  const ids = new Map();
  for (const { id, device, name } of rows) setId(ids, String(device), String(name), Number(id));
  return ids;
}

/** @param {Ids} ids @param {string} device @param {string} name @param {number} id */
function setId(ids, device, name, id) {
  const names = ids.get(device) ?? new Map();
  ids.set(device, names.set(name, id));
}

/**
 * True if the journal of the database has the rows that the blocks in memory come from, and the series have the same
 * ids in both.
 * @param {SeriesStore} store
 * @param {SeriesDatabase} database
 * @param {Ids} ids of the database
 */
function isOfMemory({ open, lastJournal }, { statements }, ids) {
  if (Number(statements.lastJournal.get()?.id ?? 0) < lastJournal) return false;
  for (const { series } of open.blocks)
    if (ids.get(series.device)?.get(series.name) !== series.id) return false;
  return true;
}

/**
 * Writes the points in memory into a database that has none of them, in one transaction. If it is unknown whether the
 * transaction was committed, doing it again changes nothing.
 * @param {SeriesStore} store
 * @param {SeriesDatabase} database
 * @param {Ids} ids of the database; gets those of the series that it does not have
 */
function carryOver(store, database, ids) {
  const blocks = [...store.open.blocks];
  if (blocks.length === 0) return;
  database.transact(() => {
    for (const { device, name } of new Set(blocks.map(({ series }) => series))) {
      if (ids.get(device)?.has(name)) continue;
      setId(ids, device, name, Number(database.statements.insertSeries.get(device, name)?.id));
    }
    store.writeBlocks(database, blocks, ({ device, name }) => Number(ids.get(device)?.get(name)));
  });
}

/**
 * Replaces the series in memory by those of the database. What memory knows of a series stays; one that is not in the
 * database is gone.
 * @param {SeriesStore} store
 * @param {Series[]} fresh series that are not in memory
 * @param {Ids} ids
 */
function exchangeSeries(store, fresh, ids) {
  const all = [...fresh];
  for (const series of store.series.values()) {
    const id = ids.get(series.device)?.get(series.name);
    if (id !== undefined) all.push(Object.assign(series, { id }));
  }
  store.series = new Map();
  store.devices = new Map();
  store.lastId = 0;
  for (const series of all.sort((a, b) => a.id - b.id)) store.remember(series);
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

module.exports = { loadSeries };
