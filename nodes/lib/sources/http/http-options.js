'use strict';
// Settings of an http devices node.

const { LOCAL_HOST } = require('../../base/local-host');
const { isLoopback } = require('../../base/loopback');
const { choice, flag, integer, recordClass, text } = require('../../base/options');
const { parsePermissions, publishRule } = require('../../settings/permissions');
const { deliveryRows } = require('../../settings/delivery');
const { offerRows } = require('../../settings/overlay-offer');
const { schemaOf } = require('../../settings/rows');
const { tenantRows } = require('../../settings/tenant-rule');
const { shown } = require('../../base/values');

const listed = (/** @type {unknown} */ value) => value;

const schema = {
  host: text('127.0.0.1', LOCAL_HOST.pattern, LOCAL_HOST.shape),
  port: integer(0, 65535, 8080),
  path: text(
    'r',
    /^[\w.~-]+(\/[\w.~-]+){0,7}$/,
    'a path such as r or api/records, without leading or trailing slashes'
  ),
  tls: text(''),
  login: choice(/** @type {const} */ (['none', 'tokens']), 'none'),
  tokenFile: text(''),
  permissions: listed,
  permissionsJson: listed,
  allowAnonymous: flag(false),
  class: recordClass(0),
  rate: integer(0, 1000000, 0),
  burst: integer(0, 1000000, 0),
  maxBodyKiB: integer(1, 65536, 1024),
  maxConnections: integer(1, 65536, 1000),
  headerTimeoutS: integer(1, 600, 10),
  bodyTimeoutS: integer(1, 3600, 30),
  keepAliveS: integer(1, 3600, 15),
  safeTimeoutS: integer(1, 600, 10),
  corsOrigins: text(''),
  ...schemaOf(tenantRows),
  ...schemaOf(offerRows),
  ...schemaOf(deliveryRows)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Settings */

/**
 * @param {Settings} settings
 * @returns {string} a warning, '' = none
 * @throws {Error} with a sentence
 */
function checkSettings({
  host,
  overlay,
  login,
  tokenFile,
  allowAnonymous,
  tls,
  bodyTimeoutS,
  headerTimeoutS,
  corsOrigins
}) {
  const isLocal = isLoopback(host);
  if (login === 'tokens' && !tokenFile) {
    throw new Error('The token file is missing. Create one with seganet-passwd token, and enter its path.');
  }
  if (login === 'none' && (!isLocal || overlay) && !allowAnonymous) {
    const who = isLocal
      ? 'Any peer of the overlay that its policy allows'
      : `Any client that reaches ${host}`;
    throw new Error(
      `${who} could send records. Choose tokens, use the address 127.0.0.1 without an overlay, or allow it in the node.`
    );
  }
  if (bodyTimeoutS < headerTimeoutS) {
    throw new Error('The time for a request must not be less than the time for its header.');
  }
  for (const origin of originsOf(corsOrigins)) {
    if (origin !== '*' && !/^https?:\/\/[^/\s]+$/.test(origin)) {
      throw new Error(`"${shown(origin)}" is not a web origin. Enter one such as https://app.example.com.`);
    }
  }
  return login === 'tokens' && !tls && !isLocal
    ? `Tokens are sent to ${host} without encryption. Choose a TLS node for use outside this machine.`
    : '';
}

/**
 * @param {Pick<Settings, 'login' | 'path' | 'permissions' | 'permissionsJson'>} settings
 * @returns {(device: string, topic: string) => boolean} true if the device may publish to the topic
 * @throws {Error} with a sentence
 */
function topicRule({ login, path, permissions, permissionsJson }) {
  const rows = parsePermissions(permissions, permissionsJson);
  if (rows.length > 0) return publishRule(rows);
  if (login === 'none') return () => true;
  // A token identifies a device. Without permissions, the device may publish to the topics of its own address.
  return (device, topic) => {
    const own = `${path}/${device}`;
    return topic === own || topic.startsWith(`${own}/`);
  };
}

/** @param {string} list with commas @returns {string[]} */
function originsOf(list) {
  return list
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
}

module.exports = { schema, checkSettings, originsOf, topicRule };
