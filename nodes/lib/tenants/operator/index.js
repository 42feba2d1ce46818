'use strict';
// The operator's page: what it shows of the tenants, and what an operator may do with them.

const { TenantsView } = require('./view');
const { addView, addOperatorEndpoints, spareView } = require('./endpoints');

module.exports = { TenantsView, addView, addOperatorEndpoints, spareView };
