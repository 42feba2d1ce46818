'use strict';

// Checks of single values. Each takes the text of an environment variable and returns the text to use;
// it throws an Error whose message is the rest of a sentence that starts with the variable's name. What a node checks
// is checked by the node's own function, so that the two cannot differ.

const fs = require('fs');
const net = require('net');
const path = require('path');
const { isLoopback } = require('../../nodes/lib/base/loopback');
const { parseBridges } = require('../../nodes/lib/settings/bridges');
const { parseBrokerUrls, splitUrls } = require('../../nodes/lib/settings/broker-url');
const { parsePermissions } = require('../../nodes/lib/settings/permissions');
const { parseProxies } = require('../../nodes/lib/settings/proxies');
const { parseSubscribers } = require('../../nodes/lib/settings/subscribers');
const { parseRules } = require('../../nodes/lib/settings/rules');
const { schema: engine } = require('../../nodes/lib/settings/engine');
const { schema: devices } = require('../../nodes/lib/settings/mqtt-devices');
const { parseGroups } = require('../../nodes/lib/settings/group-options');
const { parsePaths } = require('../../nodes/lib/settings/path-options');
const { validateTopicTemplate } = require('../../nodes/lib/base/topic-template');
const { shown } = require('../../nodes/lib/base/values');
const { parsePostgresUrls } = require('../../nodes/lib/postgres/url');

/** @typedef {(value: string) => string} Check */

const MAX_PATH = 1000;

/** @type {Check} */
const text = (value) => value;

/**
 * A value that is a property of a node, as in flows/gateway.json.
 * @param {import('../../nodes/lib/base/options').Parser<any>} parse of the node
 * @returns {Check}
 */
function property(parse) {
  return (value) => {
    const parsed = withoutPeriod(() => parse(value));
    if (typeof parsed === 'boolean') return parsed ? 'yes' : 'no';
    return typeof parsed === 'object' ? value.trim() : String(parsed);
  };
}

/**
 * Calls a parser whose errors complete a sentence that begins with a label, and removes the period at their end.
 * @template T
 * @param {() => T} read
 * @returns {T}
 */
function withoutPeriod(read) {
  try {
    return read();
  } catch (error) {
    throw new Error(/** @type {Error} */ (error).message.replace(/\.$/, ''), { cause: error });
  }
}

/** The name of a file or folder as an absolute path. @type {Check} */
function folder(value) {
  const name = value.trim();
  if (name.startsWith('~')) {
    throw new Error(`begins with ~, which only a shell expands; write the full path, not "${shown(name)}"`);
  }
  if (/:\/\/|\p{Cc}/u.test(name)) throw new Error(`must be a path, not "${shown(name)}"`);
  if (name.length > MAX_PATH) throw new Error(`must be a path of at most ${MAX_PATH} characters`);
  return path.resolve(name);
}

/** @type {Check} */
const logFolder = (value) => property(engine.logDir)(folder(value));

/** The address of the log of a pair. @type {Check} */
function database(value) {
  const address = property(engine.logUrl)(value.trim());
  try {
    parsePostgresUrls(address);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Error(`is wrong. ${message.replace(/\.$/, '')}`, { cause: error });
  }
  return address;
}

/** @param {number} least @param {number} most @returns {Check} */
function integer(least, most) {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`must be a whole number from ${least} to ${most}, not "${shown(value)}"`);
    }
    return String(number);
  };
}

/** A TCP port (0 = any free one), or the word `off`. @type {Check} */
const portOrOff = (value) => (value === 'off' ? value : integer(0, 65535)(value));

/** An address or name to listen on. @type {Check} */
function host(value) {
  if (value.length > 253 || (!net.isIP(value) && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value))) {
    throw new Error(`must be an IP address or a host name, not "${shown(value)}"; for example 127.0.0.1`);
  }
  return value;
}

/** @type {Check} */
const deviceHost = (value) => property(devices.host)(host(value));

/** Becomes an MQTT client id and a level of a topic, so it must not look like several levels or a filter. @type {Check} */
function gatewayId(value) {
  if (/[+#/\s\p{Cc}]/u.test(value) || Buffer.byteLength(value) > 128) {
    throw new Error(`must have at most 128 bytes and no space, "/", "+" or "#", not "${shown(value)}"`);
  }
  return value;
}

/** A bearer token [RFC 6750, 2.1], long enough that nobody guesses it. The sentence does not show it. @type {Check} */
function token(value) {
  if (!/^[\w.~+/-]{32,256}=*$/.test(value)) {
    throw new Error('must be 32 to 256 letters, digits and - . _ ~ + /; "openssl rand -hex 32" makes one');
  }
  return value;
}

/** The classes of each session. @type {Check} */
function sessions(value) {
  reported(() => parseGroups(value));
  return value;
}

/** The paths of the uplink. @type {Check} */
function paths(value) {
  reported(() => parsePaths(value));
  return value;
}

/** What devices may do, as JSON. @type {Check} */
function permissions(value) {
  return JSON.stringify(reported(() => parsePermissions([], value)));
}

/** The devices behind bridges. @type {Check} */
function bridges(value) {
  reported(() => parseBridges(value));
  return value;
}

/** Who may read all records. @type {Check} */
function subscribers(value) {
  reported(() => parseSubscribers(value));
  return value;
}

/** The proxies of the listeners. @type {Check} */
function proxies(value) {
  reported(() => parseProxies(value));
  return value;
}

/**
 * What another part says as a sentence of its own.
 * @template T @param {() => T} read @returns {T}
 */
function reported(read) {
  try {
    return read();
  } catch (error) {
    const reason = /** @type {Error} */ (error).message.replace(/\.$/, '');
    throw new Error(`cannot be used: ${reason}`, { cause: error });
  }
}

/** @type {Check} */
function uplinkUrl(value) {
  const remedy = 'Set SEGANET_UPLINK_USERNAME and SEGANET_UPLINK_PASSWORD';
  const addresses = withoutPeriod(() => parseBrokerUrls(value, { remedy }));
  return splitUrls(value)
    .map((url, i) => uplinkUrlOf(new URL(url), addresses[i]))
    .join(',');
}

/** @param {URL} url @param {import('../../nodes/lib/settings/broker-url').Address} address */
function uplinkUrlOf(url, address) {
  if ((url.pathname !== '' && url.pathname !== '/') || url.search || url.hash) {
    throw new Error('must end after the port, as in mqtts://broker.example.com:8883');
  }
  if (!address.secure && !isLoopback(address.host)) {
    throw new Error(
      `would send records unencrypted to ${shown(url.hostname)}; write mqtts:// (mqtt:// is for loopback only)`
    );
  }
  return `${url.protocol}//${url.hostname}:${address.port}`;
}

/** A file that can be read; the result is its absolute path. @type {Check} */
function file(value) {
  const name = folder(value);
  try {
    fs.accessSync(name, fs.constants.R_OK);
    if (!fs.statSync(name).isFile()) throw new Error('not a file');
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    const why = code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'cannot be read' : 'is not a file';
    throw new Error(`names ${shown(name)}, which ${why}; check the path and its permissions`, {
      cause: error
    });
  }
  return name;
}

/** The priority node's rules as JSON. @type {Check} */
function rules(value) {
  reported(() => parseRules([], value));
  return value.trim();
}

/** The topic of an uplink node. @type {Check} */
function topicTemplate(value) {
  const problem = validateTopicTemplate(value.trim());
  if (problem !== true) throw new Error(`cannot be used: ${problem.replace(/\.$/, '')}`);
  return value.trim();
}

module.exports = {
  text,
  property,
  folder,
  database,
  logFolder,
  integer,
  portOrOff,
  host,
  deviceHost,
  gatewayId,
  sessions,
  paths,
  permissions,
  bridges,
  subscribers,
  proxies,
  uplinkUrl,
  file,
  rules,
  token,
  topicTemplate
};
