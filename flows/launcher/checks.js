'use strict';

// Checks of single values. Each takes the text of an environment variable and returns the text to use;
// it throws an Error whose message is the rest of a sentence that starts with the variable's name.

const fs = require('fs');
const net = require('net');
const path = require('path');
const { durationsByClass, numbersByClass, weightsByClass } = require('../../nodes/lib/by-class');
const { CLASS_WORDS, classNames } = require('../../nodes/lib/classes');
const { parseDevices } = require('../../nodes/lib/device-classes');
const { parsePermissions } = require('../../nodes/lib/permissions');
const { shownUrl } = require('../../nodes/lib/shown-url');
const { parseCongestion } = require('../../nodes/lib/uplink/congestion');
const { parseGroups } = require('../../nodes/lib/uplink/group-options');
const { parsePaths } = require('../../nodes/lib/uplink/path-options');

/** @typedef {(value: string) => string} Check */

/** @type {Check} */
const text = (value) => value;

/** @type {Check} */
const folder = (value) => path.resolve(value);

/** @param {string} address */
function isLoopback(address) {
  const name = address.replace(/^\[|\]$/g, '').toLowerCase();
  return name === 'localhost' || name === '::1' || (net.isIPv4(name) && name.startsWith('127.'));
}

/** @param {number} least @param {number} most @returns {Check} */
function integer(least, most) {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`must be a whole number from ${least} to ${most}, not "${value}"`);
    }
    return String(number);
  };
}

/** @param {string[]} words @returns {Check} */
function oneOf(...words) {
  return (value) => {
    if (!words.includes(value)) throw new Error(`must be ${words.join(' or ')}, not "${value}"`);
    return value;
  };
}

/** A TCP port (0 = any free one), or the word `off`. @type {Check} */
const portOrOff = (value) => (value === 'off' ? value : integer(0, 65535)(value));

/** An address or name to listen on. @type {Check} */
function host(value) {
  if (!net.isIP(value) && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value)) {
    throw new Error(`must be an IP address or a host name, not "${value}"; for example 127.0.0.1`);
  }
  return value;
}

/** Becomes an MQTT client id and a level of a topic, so it must not look like several levels or a filter. @type {Check} */
function gatewayId(value) {
  if (/[+#/\s\0]/.test(value) || Buffer.byteLength(value) > 128) {
    throw new Error(`must have at most 128 bytes and no space, "/", "+" or "#", not "${value}"`);
  }
  return value;
}

/** A list of cores such as 1-3,5. @type {Check} */
function cpuList(value) {
  if (!/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(value)) {
    throw new Error(`must be a list of cores such as 1-3,5, not "${value}"`);
  }
  return value;
}

/** Times by class. @type {Check} */
function durations(value) {
  durationsByClass(value);
  return value;
}

/** Numbers by class. @param {number} most @returns {Check} */
function numbers(most) {
  return (value) => {
    numbersByClass(value, most);
    return value;
  };
}

/** Weights by class. @type {Check} */
function weights(value) {
  weightsByClass(value);
  return value;
}

/** The classes of each session. @type {Check} */
function sessions(value) {
  told(() => parseGroups(value));
  return value;
}

/** The paths of the uplink. @type {Check} */
function paths(value) {
  told(() => parsePaths(value));
  return value;
}

/** The uplink's congestion control. @type {Check} */
function congestion(value) {
  return told(() => parseCongestion(value));
}

/** A number for each session; how many there may be is known with SEGANET_SESSIONS only. @param {number} most @returns {Check} */
function bySession(most) {
  return (value) => {
    const isGood = (/** @type {string} */ part) => /^\s*\d*\s*$/.test(part) && Number(part) <= most;
    if (value.split(',').every(isGood)) return value;
    throw new Error(`must be a whole number from 0 to ${most} for each session, such as 6,0, not "${value}"`);
  };
}

/** The classes of registered devices, as JSON. @type {Check} */
function deviceClasses(value) {
  return JSON.stringify(told(() => parseDevices([], value)));
}

/** What devices may do, as JSON. @type {Check} */
function permissions(value) {
  return JSON.stringify(told(() => parsePermissions([], value)));
}

/**
 * What another part says as a sentence of its own.
 * @template T @param {() => T} read @returns {T}
 */
function told(read) {
  try {
    return read();
  } catch (error) {
    const reason = /** @type {Error} */ (error).message.replace(/\.$/, '');
    throw new Error(`cannot be used: ${reason}`, { cause: error });
  }
}

/** @type {Check} */
function uplinkUrl(value) {
  const example = 'for example mqtts://broker.example.org:8883';
  /** @type {URL} */
  let url;
  try {
    url = new URL(value);
  } catch {
    throw new Error(`must be a URL, ${example}, not "${shownUrl(value)}"`);
  }
  if (url.protocol !== 'mqtts:' && url.protocol !== 'mqtt:') {
    throw new Error(`must start with mqtts://, ${example}, not with ${url.protocol}//`);
  }
  // Never echo the URL here: it may hold the password.
  if (url.username || url.password) {
    throw new Error(
      'must not hold a user name or password; set SEGANET_UPLINK_USERNAME and SEGANET_UPLINK_PASSWORD'
    );
  }
  if (!url.hostname) throw new Error(`names no host; write it as mqtts://HOST:PORT, ${example}`);
  if ((url.pathname !== '' && url.pathname !== '/') || url.search || url.hash) {
    throw new Error(`must end after the port, ${example}`);
  }
  if (url.protocol === 'mqtt:' && !isLoopback(url.hostname)) {
    throw new Error(
      `would send records unencrypted to ${url.hostname}; write mqtts:// (mqtt:// is for loopback only)`
    );
  }
  const port = url.port || (url.protocol === 'mqtts:' ? '8883' : '1883');
  return `${url.protocol}//${url.hostname}:${port}`;
}

/** A file that can be read; the result is its absolute path. @type {Check} */
function file(value) {
  const name = path.resolve(value);
  try {
    fs.accessSync(name, fs.constants.R_OK);
    if (!fs.statSync(name).isFile()) throw new Error('not a file');
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    const why = code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'cannot be read' : 'is not a file';
    throw new Error(`names ${name}, which ${why}; check the path and its permissions`, { cause: error });
  }
  return name;
}

/** A number, or a name as it is in the list: what JSON says is not guessed at. @param {unknown} value */
const isClass = (value) =>
  (typeof value === 'number' && value > 0 && value in classNames) ||
  (typeof value === 'string' && value !== '' && classNames.includes(/** @type {any} */ (value)));

/** The priority node's rules as JSON. @type {Check} */
function rules(value) {
  const example = 'for example [{"topic":"d/+/alarm","class":1}]';
  /** @type {unknown} */
  let list;
  try {
    list = JSON.parse(value);
  } catch (error) {
    throw new Error(`is not JSON (${/** @type {Error} */ (error).message}); ${example}`, { cause: error });
  }
  if (!Array.isArray(list)) throw new Error(`must be a JSON array, ${example}`);
  list.forEach((rule, index) => {
    const where = `rule ${index + 1}`;
    if (rule === null || typeof rule !== 'object') throw new Error(`${where} must be an object, ${example}`);
    if (!isClass(rule.class)) throw new Error(`${where} needs a "class": ${CLASS_WORDS}; ${example}`);
    for (const [key, content] of Object.entries(rule)) {
      if (key === 'class') continue;
      if (key !== 'topic' && key !== 'device')
        throw new Error(`${where} has an unknown key "${key}"; ${example}`);
      if (typeof content !== 'string' || !content)
        throw new Error(`${where}: "${key}" must be text; ${example}`);
    }
  });
  return JSON.stringify(list);
}

/** First levels of a topic [MQTT-4.7.1-1], [MQTT-4.7.2-1]. @type {Check} */
function topicPrefix(value) {
  if (!/^[^$/+#\0][^+#\0]{0,255}$/.test(value) || value.endsWith('/')) {
    throw new Error(`must be a topic such as cmd, without + and #, not "${value}"`);
  }
  return value;
}

module.exports = {
  text,
  folder,
  integer,
  oneOf,
  portOrOff,
  host,
  gatewayId,
  cpuList,
  durations,
  numbers,
  weights,
  sessions,
  bySession,
  paths,
  congestion,
  deviceClasses,
  permissions,
  uplinkUrl,
  file,
  rules,
  topicPrefix,
  isLoopback
};
