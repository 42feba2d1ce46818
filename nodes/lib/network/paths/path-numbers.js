'use strict';
// The numbers that identify our rules, routes and endpoints, even if the state file is missing. A path has a permanent
// slot, 1 to 8.

/** The limit of one MPTCP connection [MPTCP_PM_ADDR_MAX of the kernel]. */
const MOST_PATHS = 8;

/** Marks rules and routes as ours; no routing daemon uses it [rtnetlink.h, rt_protos of iproute2]. */
const PROTOCOL = 177;
/** The number that `ip -N` prints. */
const MAIN_TABLE = 254;

/** @param {number} slot */
const tableOf = (slot) => 27100 + slot;
/** Before the main table (32766), and before the rules that VPNs add behind it. @param {number} slot */
const localPreference = (slot) => 27100 + slot;
/** @param {number} slot */
const pathPreference = (slot) => 27110 + slot;
/**
 * Returns the id of a path's MPTCP endpoint: far from those that the kernel assigns, from 1 upwards.
 * @param {number} slot
 */
const endpointIdOf = (slot) => 230 + slot;

const SLOTS = Array.from({ length: MOST_PATHS }, (_, i) => i + 1);

module.exports = {
  MOST_PATHS,
  PROTOCOL,
  MAIN_TABLE,
  SLOTS,
  tableOf,
  localPreference,
  pathPreference,
  endpointIdOf
};
