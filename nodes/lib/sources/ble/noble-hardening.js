'use strict';
// What noble lacks against strangers. Nothing in here is part of its interface: the version is pinned, and the tests with a
// virtual controller fail when these doors are gone.
//
// - It reads fields without looking at the length first, so one packet of one byte, from anybody in range, throws out of its
//   receiver. Such a packet is counted, and ends the link that it came by.
// - It remembers every address that it ever heard, and phones change theirs every quarter of an hour.

const RISKY = new Set(['leAdvertisingReport', 'leExtendedAdvertisingReport', 'aclDataPkt']);

/**
 * @param {any} noble started
 * @param {() => void} onMalformed
 * @returns {boolean} false where this binding has no such door; a bad packet ends the process then
 */
function guard(noble, onMalformed) {
  const hci = noble._bindings?._hci;
  if (typeof hci?.emit !== 'function') return false;
  const emit = hci.emit;
  hci.emit = function (/** @type {string} */ event, /** @type {any[]} */ ...args) {
    if (!RISKY.has(event)) return emit.call(hci, event, ...args);
    try {
      return emit.call(hci, event, ...args);
    } catch {
      onMalformed();
      if (event === 'aclDataPkt') hci.disconnect(args[0]);
      return true;
    }
  };
  return true;
}

/**
 * @param {any} noble
 * @param {{ id: string, address: string }} peripheral without a link
 */
function forget(noble, { id, address }) {
  noble._cleanupPeriperals?.(id);
  const bindings = noble._bindings ?? {};
  for (const table of ['_addresses', '_addresseTypes', '_connectable', 'scannable'])
    delete bindings[table]?.[id];
  delete bindings._gap?._discoveries?.[address];
}

module.exports = { guard, forget };
