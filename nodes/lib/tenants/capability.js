'use strict';
// What tenants add to the engine.

const { TenantsLive } = require('./live');
const { addSingleTenants, addTenants } = require('./metrics');

exports.threads = () => require('./uplink');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  engine: (out, labels, { tenants }, host) => {
    if (tenants) addTenants(out, labels, tenants);
    const single = host?.members.find(({ operator }) => operator)?.operator?.figures();
    if (single) addSingleTenants(out, labels, single);
  }
};

/** @type {import('../live/snapshot').MakeLiveAddition} */
exports.live = (host) => new TenantsLive(host);
