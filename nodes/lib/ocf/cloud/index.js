'use strict';

const { accessCodes, newCode } = require('./access-codes');
const { LIMITS: BODY } = require('./cbor-bounds');
const { FORMAT, OPTION } = require('./coap');
const { DEFAULTS, LIMITS } = require('./options');
const { forwardOptions } = require('./route-options');
const { isPostgresUrl, parsePostgresUrl } = require('../../postgres/url');

/**
 * Returns what a listener of the engine must do for the cloud: pass it these requests, with these critical options,
 * forward requests to devices, and make records of posts to topics.
 * @param {{ requestTimeoutMs: number }} options
 */
function deskOptions({ requestTimeoutMs }) {
  return {
    prefixes: ['oic', '.well-known', 'rd', 'rd-lookup'],
    // iotivity-lite sends none.
    csmOptional: true,
    knownOptions: [OPTION.OCF_ACCEPT_VERSION, OPTION.OCF_CONTENT_VERSION],
    maxAsks: DEFAULTS.mostOpen,
    forward: forwardOptions(requestTimeoutMs),
    posts: {
      prefix: 'oic/ps',
      formats: [FORMAT.CBOR, FORMAT.OCF],
      ignoredOptions: [OPTION.OCF_ACCEPT_VERSION, OPTION.OCF_CONTENT_VERSION],
      body: BODY
    }
  };
}

module.exports = {
  // Loaded on first use, because the palette needs only the rest.
  get OcfCloud() {
    return require('./cloud').OcfCloud;
  },
  get openStore() {
    return require('../store').openStore;
  },
  accessCodes,
  isPostgresUrl,
  parsePostgresUrl,
  newCode,
  deskOptions,
  DEFAULTS,
  LIMITS
};
