'use strict';
// The numbers by which everything of ours is known, also when no file tells of it. A path has a slot, 1 to 8, and keeps it.

/** What one MPTCP connection can have [MPTCP_PM_ADDR_MAX of the kernel]. */
const MOST_PATHS = 8;

/** Marks rules and routes as ours; no routing daemon has it [rtnetlink.h, rt_protos of iproute2]. */
const PROTOCOL = 177;
/** Of `ip -N`. */
const MAIN_TABLE = 254;

/** @param {number} slot */
const tableOf = (slot) => 27100 + slot;
/** Before the main table (32766) and before what VPNs add behind it. @param {number} slot */
const localPreference = (slot) => 27100 + slot;
/** @param {number} slot */
const pathPreference = (slot) => 27110 + slot;
/** Of the MPTCP endpoint: far from those that the kernel gives, 1 upwards. @param {number} slot */
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
