'use strict';
// Every kind of fault by its name in the schedule.

const { edits } = require('./edits');
const { full } = require('./full');
const { gateway } = require('./gateway');
const { uplink } = require('./uplink');

/** @type {Record<string, (context: import('../context').Context, fault: import('../schedule').Fault) => Promise<void>>} */
const faults = { ...uplink, ...gateway, ...full, edits };

module.exports = { faults };
