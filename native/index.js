'use strict';

// Loads the native engine: the build of this repository if there is one, otherwise the prebuilt binary of this
// platform.

const fs = require('node:fs');
const path = require('node:path');
const target = require('./target');

const { SEGANET_NATIVE } = process.env;
const candidates = SEGANET_NATIVE
  ? [path.resolve(SEGANET_NATIVE)]
  : [
      path.join(__dirname, 'build', 'Release', 'seganet.node'),
      path.join(__dirname, 'prebuilds', `${target}.node`)
    ];

/** @returns {string[]} the platforms that this package has an engine for; a checkout may have none */
function prebuilt() {
  try {
    const names = fs.readdirSync(path.join(__dirname, 'prebuilds')).filter((name) => name.endsWith('.node'));
    return names.map((name) => name.slice(0, -'.node'.length)).sort();
  } catch {
    return []; // the folder does not exist
  }
}

/** @returns {string} what to do if the engine came with the package */
function installedSolution() {
  const platforms = prebuilt();
  if (platforms.length === 0) return 'this package has no prebuilt engine; install from a checkout';
  const list = `this package has an engine for ${platforms.join(', ')}`;
  if (!platforms.includes(target)) return `${list}; on other platforms install from a checkout`;
  return `${list}. It needs glibc 2.28 (Debian 10, Ubuntu 20.04) or musl 1.2.3, or newer; on older systems install from a checkout`;
}

/**
 * Loads the first file that exists, and no other: if a new build does not load, that must be an error, not run an
 * older one.
 */
function load() {
  const tried = [];
  for (const file of candidates) {
    try {
      return require(file);
    } catch (error) {
      const isThere = fs.existsSync(file);
      tried.push(`  ${file}: ${isThere ? /** @type {Error} */ (error).message : 'not found'}`);
      if (isThere) break;
    }
  }
  const error = new Error(
    `The native engine cannot be loaded on ${target}, Node ${process.versions.node} (Node-API ${process.versions.napi}).\n` +
      `Tried:\n${tried.join('\n')}\n` +
      'Possible solutions:\n' +
      '  - from a checkout: npm run build (needs g++ 11, clang 14 or newer; Debian: sudo apt-get install g++)\n' +
      `  - installed from npm: ${installedSolution()}\n` +
      (SEGANET_NATIVE ? '  - SEGANET_NATIVE names the file: correct it or unset it\n' : '')
  );
  throw Object.assign(error, { code: 'ERR_SEGANET_NATIVE' });
}

const addon = load();
const {
  Engine,
  UplinkSource,
  StoreSource,
  SessionSource,
  openDeviceStream,
  parseProxyHeader,
  openSocket,
  closeSocket,
  socketInfo
} = addon;
const { checkConditions, checkPath, ForecastTable } = addon;
const { Permissions, PublishWriter, InFlightWindow, BrokerReader } = addon;
const { UplinkConnection, restUplink, mptcpInfo, renewPriority, notify } = addon;
const { clockSynchronized, releaseMemory, releaseProgramPages, shortenTimeSlices } = addon;

/** @param {number} fd @param {number} timeoutMs @returns {Promise<void>} */
function waitConnect(fd, timeoutMs) {
  return new Promise((resolve, reject) => {
    addon.waitConnect(fd, timeoutMs, (/** @type {Error | undefined} */ error) =>
      error ? reject(error) : resolve()
    );
  });
}

module.exports = {
  Engine,
  UplinkSource,
  UplinkConnection,
  PublishWriter,
  InFlightWindow,
  BrokerReader,
  restUplink,
  StoreSource,
  SessionSource,
  Permissions,
  ForecastTable,
  checkConditions,
  checkPath,
  openDeviceStream,
  parseProxyHeader,
  openSocket,
  waitConnect,
  closeSocket,
  socketInfo,
  mptcpInfo,
  renewPriority,
  notify,
  clockSynchronized,
  releaseMemory,
  releaseProgramPages,
  shortenTimeSlices,
  PushResult: Object.freeze({
    OK: 0,
    FULL: 1,
    TOO_LONG: 2,
    CLOSED: 3,
    NO_STAGE: 4,
    NO_ROUTE: 5,
    ODD_TOPIC: 6
  }),
  CommandEnd: Object.freeze({
    TAKEN: 0,
    OFFLINE: 1,
    NOT_LISTENING: 2,
    TIMEOUT: 3,
    GONE: 4,
    REFUSED: 5,
    TOO_LARGE: 6,
    BUSY: 7
  }),
  Flag: Object.freeze({ QOS1: 1, RETAIN: 2, ENVELOPE: 4 }),
  SealReason: Object.freeze(['single', 'bytes', 'delay', 'flush', 'plan', 'demand']),
  classNames: Object.freeze(['', 'critical', 'high', 'normal', 'bulk', '5', '6', '7', '8'])
};
