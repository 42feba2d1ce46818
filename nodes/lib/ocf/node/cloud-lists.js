'use strict';
// Pages of a cloud's devices and users for the live view.

/** @typedef {import('./clouds').Cloud} Cloud */
/** @typedef {{ show: 'devices' | 'on' | 'users', q: string, page: number, size: number }} ListQuery on: devices that are signed in */

/**
 * @param {Cloud} cloud
 * @param {ListQuery} query
 * @returns {Promise<object>} see docs/use/status-page.md
 */
async function listOf(cloud, { show, ...search }) {
  const { elsewhere, sessions, store } = cloud;
  if (show === 'users') return { show, ...(await store.read('userList', search)) };
  const only = show === 'on' ? [...sessions.signedIn()].map(({ di }) => di) : null;
  const found = await store.read('deviceList', { ...search, only });
  const rows = found.rows.map((row) => {
    const peer = sessions.of(row.di);
    const here = { on: peer !== undefined, since: peer?.since ?? 0, address: peer?.address ?? '' };
    return { ...row, ...here, state: cloud.stateOf(row.di), region: peer ? '' : elsewhere.regionOf(row.di) };
  });
  return { show, ...found, rows };
}

exports.listOf = listOf;
