'use strict';
// The operator's page: what it shows of the tenants, and what an operator may do with them.

const { TenantsDesk } = require('./desk');
const { addDesk, addOperatorEndpoints, spareDesk } = require('./endpoints');

module.exports = { TenantsDesk, addDesk, addOperatorEndpoints, spareDesk };
