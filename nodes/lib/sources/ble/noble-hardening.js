'use strict';
// Protects noble against untrusted devices. The hooks are not part of its interface: the version is pinned, and the
// tests with a virtual controller fail if a hook is missing.
//
// - noble reads fields without checking the length, so a packet of one byte from any device in range makes its receiver
//   throw. Such a packet is counted, and ends its link.
// - noble remembers every address that it ever received, and phones change theirs every 15 minutes.

const RISKY = new Set(['leAdvertisingReport', 'leExtendedAdvertisingReport', 'aclDataPkt']);

/**
 * @param {any} noble started
 * @param {() => void} onMalformed
 * @returns {boolean} false if this binding has no such hook; a malformed packet then ends the process
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
