'use strict';
// The environment variables of a tenant. A gateway of this package needs nothing else; any other program can read the
// variables that begin with SEGANET_TENANT.

/**
 * @param {Pick<import('../../../../nodes/lib/tenants/file/schema').Spec, 'name' | 'port' | 'http' | 'tcp'>} spec
 * @param {{ host: string, data: string, passwords: string }} places host: address to listen on; data: folder;
 *   passwords: file of users and
 *   hashes, as seganet-passwd makes it
 * @returns {Record<string, string>} no secrets
 */
function environmentOf({ name, port, http, tcp }, { host, data, passwords }) {
  return {
    HOME: data,
    NODE_ENV: 'production',
    SEGANET_TENANT: name,
    SEGANET_TENANT_HOST: host,
    SEGANET_TENANT_PORT: String(port),
    SEGANET_TENANT_HTTP: String(http),
    SEGANET_TENANT_TCP: String(tcp),
    SEGANET_TENANT_PASSWORDS: passwords,
    SEGANET_HOME: data,
    SEGANET_GATEWAY_ID: name,
    SEGANET_DEVICE_HOST: host,
    SEGANET_DEVICE_LOGIN: 'passwords',
    SEGANET_DEVICE_PASSWORD_FILE: passwords,
    ...(port && { SEGANET_MQTT_PORT: String(port) }),
    SEGANET_EDITOR_PORT: http ? String(http) : 'off',
    ...(http && { SEGANET_EDITOR_HOST: host })
  };
}

module.exports = { environmentOf };
