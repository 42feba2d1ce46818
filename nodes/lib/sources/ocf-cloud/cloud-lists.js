'use strict';
// Pages of a cloud's devices and users for the live view.

/** @typedef {import('./clouds').Cloud} Cloud */
/** @typedef {{ show: 'devices' | 'on' | 'users', q: string, page: number, size: number }} ListQuery on: devices that are signed in */

/**
 * @param {Cloud} cloud
 * @param {ListQuery} query
 * @returns {Promise<object>} see docs/status-page.md
 */
async function listOf({ sessions, store }, { show, ...search }) {
  if (show === 'users') return { show, ...(await store.read('userList', search)) };
  const only = show === 'on' ? [...sessions.signedIn()].map(({ di }) => di) : null;
  const found = await store.read('deviceList', { ...search, only });
  const rows = found.rows.map((row) => {
    const peer = sessions.of(row.di);
    return { ...row, on: peer !== undefined, since: peer?.since ?? 0, address: peer?.address ?? '' };
  });
  return { show, ...found, rows };
}

exports.listOf = listOf;
