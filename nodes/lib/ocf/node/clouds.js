'use strict';
// The clouds that are open, by the id of their node, for the nodes that use them.

/** @typedef {InstanceType<typeof import('../cloud').OcfCloud>} Cloud */

/** @type {Map<string, Cloud>} */
const open = new Map();
/** @type {Map<string, Set<(cloud: Cloud | null) => void>>} */
const followers = new Map();

/** @param {string} id @param {Cloud | null} cloud null: it closes */
function setCloud(id, cloud) {
  if (cloud) open.set(id, cloud);
  else if (!open.delete(id)) return;
  for (const follower of followers.get(id) ?? []) follower(cloud);
}

/** @param {string} id @returns {Cloud | null} */
function cloudOf(id) {
  return open.get(id) ?? null;
}

/**
 * @param {string} di
 * @returns {Promise<Cloud | null>} the open cloud at which a device has signed up
 */
async function cloudWith(di) {
  for (const cloud of open.values()) if (await cloud.grants.of(di)) return cloud.isClosed ? null : cloud;
  return null;
}

/**
 * Calls a function whenever the cloud opens or closes.
 * @param {string} id
 * @param {(cloud: Cloud | null) => void} follower must not throw
 * @returns {() => void} ends it
 */
function follow(id, follower) {
  const own = followers.get(id) ?? new Set();
  followers.set(id, own.add(follower));
  return () => {
    own.delete(follower);
    if (own.size === 0 && followers.get(id) === own) followers.delete(id);
  };
}

module.exports = { setCloud, cloudOf, cloudWith, follow };
