'use strict';
// Assigns each adapter to one node, because two scanners on one radio would end each other's connections.

/** @type {Map<string, string>} node id by adapter */
const users = new Map();

/**
 * @param {string} adapter '' = the system's first
 * @param {string} nodeId
 * @returns {(() => void) | null} releases the adapter; null while another node has it
 */
function claim(adapter, nodeId) {
  const key = adapter || 'hci0';
  if (users.has(key)) return null;
  users.set(key, nodeId);
  return () => {
    if (users.get(key) === nodeId) users.delete(key);
  };
}

module.exports = { claim };
