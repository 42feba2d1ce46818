'use strict';

const { accessCodes, newCode } = require('./access-codes');
const { OPTION } = require('./coap');
const { OcfCloud } = require('./cloud');
const { DEFAULTS, LIMITS } = require('./options');
const { StoreThread, isPostgresUrl, openStore } = require('./store');

/** What a listener of the engine must do for the cloud: pass it these requests, with these critical options. */
const DESK_OPTIONS = {
  prefixes: ['oic', '.well-known'],
  // iotivity-lite sends none.
  csmOptional: true,
  knownOptions: [OPTION.OCF_ACCEPT_VERSION, OPTION.OCF_CONTENT_VERSION]
};

module.exports = {
  OcfCloud,
  StoreThread,
  accessCodes,
  isPostgresUrl,
  openStore,
  newCode,
  DESK_OPTIONS,
  DEFAULTS,
  LIMITS
};
