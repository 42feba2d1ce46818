// Runs a script of this project with a sufficiently new Node.js: node native/node/run.js SCRIPT [args]
//
// Any installed Node.js, however old, reads this file, fetch-node.js, npm.js, lock.js and node-version.js, so they are
// written in the language of 2009 (ES5): an old Node.js must be able to fetch a new one instead of failing with a
// syntax error.
'use strict';

var fs = require('fs');
var path = require('path');
var spawn = require('child_process').spawn;
var fetchNode = require('./fetch-node');
var nodeVersion = require('./node-version');

var isNewEnough = nodeVersion.isNewEnough;
/** @type {NodeJS.Signals[]} */
var SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/**
 * Runs the script in this process, as `node SCRIPT` would: no second process, nothing to forward.
 * @param {string} script
 * @param {string[]} args
 */
function runHere(script, args) {
  process.argv = [process.execPath, path.resolve(script)].concat(args);
  require('module').runMain();
}

/** True for a memory limit, which is meant for the script. @param {string} option of Node.js */
function isLimit(option) {
  return /^--max-/.test(option);
}

/**
 * Runs the script with another Node.js, and ends with the same exit code or signal.
 * @param {string} binary
 * @param {string} script
 * @param {string[]} args
 */
function runWith(binary, script, args) {
  /** @type {NodeJS.ProcessEnv} */
  var env = {};
  Object.keys(process.env).forEach(function (name) {
    env[name] = process.env[name];
  });
  // If the script starts "node", it must get the same version.
  env.PATH = path.dirname(binary) + path.delimiter + (env.PATH || '');
  // start.js ends when this process is gone: a supervisor that kills the launcher must not leave a gateway behind.
  env.SEGANET_LAUNCHER_PID = String(process.pid);

  var options = process.execArgv.filter(isLimit).concat(script, args);
  var child = spawn(binary, options, { stdio: 'inherit', env: env });
  /** @type {Record<string, () => void>} */
  var forwards = {};
  SIGNALS.forEach(function (signal) {
    forwards[signal] = function () {
      child.kill(signal);
    };
    process.on(signal, forwards[signal]);
  });
  var watch = process.env.npm_lifecycle_event ? endWithNpm(child) : undefined;
  child.on('error', function (error) {
    fail('Cannot start ' + binary + ': ' + error.message);
  });
  child.on('exit', function (code, signal) {
    clearInterval(watch);
    SIGNALS.forEach(function (name) {
      process.removeListener(name, forwards[name]);
    });
    if (signal) {
      process.kill(process.pid, signal);
    } else {
      process.exit(code === null ? 1 : code);
    }
  });
}

/**
 * Ends the script when the npm that runs this process is gone: npm stops its shell on a signal, and the shell may not
 * forward it.
 * @param {import('child_process').ChildProcess} child
 */
function endWithNpm(child) {
  var parent = process.ppid;
  // The script in package.json names its npm, which may have been killed before this process got here.
  var npm = Number(process.env.SEGANET_LAUNCHER_PID);
  if (npm > 0 && npm !== parent && !isThere(npm)) {
    child.kill('SIGTERM');
  }
  return setInterval(function () {
    if (process.ppid !== parent) {
      parent = process.ppid;
      child.kill('SIGTERM');
    }
  }, 1000);
}

/** @param {number} pid @returns {boolean} false also for one that has ended, and that its parent has not collected */
function isThere(pid) {
  try {
    return process.kill(pid, 0) && !/\) [ZX] /.test(fs.readFileSync('/proc/' + pid + '/stat', 'latin1'));
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}

/**
 * Runs the script with the Node.js that was fetched earlier. Fetches none.
 * @param {string} script
 * @param {string[]} args
 * @returns {boolean} false: none was fetched
 */
function runWithFetched(script, args) {
  var binary = fetchNode.fetchedNode(process.env);
  if (!binary) {
    return false;
  }
  runWith(binary, script, args);
  return true;
}

/** @param {string[]} args */
function main(args) {
  var script = args[0];
  if (!script) {
    fail('Usage: node native/node/run.js SCRIPT [arguments]');
  } else if (isNewEnough(process.versions.node)) {
    runHere(script, args.slice(1));
  } else {
    fetchNode.ensureNode({ minimum: nodeVersion.MINIMUM.join('.') }, function (error, binary) {
      if (error || !binary) {
        fail(error ? error.message : 'No Node found.');
      } else {
        runWith(binary, script, args.slice(1));
      }
    });
  }
}

if (require.main === module) {
  main(process.argv.slice(2));
}

module.exports = { isNewEnough: isNewEnough, runWith: runWith, runWithFetched: runWithFetched, main: main };
