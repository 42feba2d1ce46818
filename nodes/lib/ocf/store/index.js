'use strict';

const { PostgresStore } = require('./postgres-store');
const { isPostgresUrl, parsePostgresUrl } = require('../../postgres/url');
const { SqliteStore } = require('./sqlite-store');
const { StoreThread } = require('./store-thread');

/**
 * Opens a store for a gateway, and creates it if necessary.
 * @param {string} place the absolute path of an SQLite file, or the URL of a PostgreSQL database
 * @param {{ password?: string, report?: (sentence: string) => void }} [options]
 * @returns {Promise<import('./operations').Store>}
 */
function openStore(place, { password = '', report } = {}) {
  return isPostgresUrl(place)
    ? PostgresStore.open(place, { password, report })
    : StoreThread.open(place, report);
}

module.exports = { PostgresStore, SqliteStore, StoreThread, isPostgresUrl, openStore, parsePostgresUrl };
