'use strict';

const { TenantsThread } = require('./tenants-thread');

module.exports = { TenantsThread };
