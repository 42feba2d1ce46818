// Installs one pinned package with the npm that belongs to the Node.js running this. ES5, see run.js.
'use strict';

var fs = require('fs');
var path = require('path');
var childProcess = require('child_process');

/**
 * @typedef {import('./fetch-node').Pin} Pin
 * @typedef {[command: string, firstArguments: string[]]} NpmCommand
 */

/**
 * Returns the npm of this Node.js as [command, first arguments]: the npm that runs this process, the one beside
 * Node.js, or the one in PATH.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} execPath
 * @returns {NpmCommand}
 */
function findNpm(env, execPath) {
  var caller = env.npm_execpath || '';
  var candidates = [
    /npm-cli\.js$/.test(caller) ? caller : '',
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

/**
 * Writes the package.json and the lock file that pin the binary by its checksum.
 * @param {string} folder
 * @param {Pin} pin
 */
function writePins(folder, pin) {
  /** @type {Record<string, string>} */
  var dependencies = {};
  dependencies[pin.name] = pin.version;
  /** @type {Record<string, object>} */
  var packages = { '': { name: 'seganet-node', version: '1.0.0', dependencies: dependencies } };
  packages['node_modules/' + pin.name] = { version: pin.version, integrity: pin.integrity };
  var head = { name: 'seganet-node', version: '1.0.0', private: true, dependencies: dependencies };
  var lock = {
    name: 'seganet-node',
    version: '1.0.0',
    lockfileVersion: 2,
    requires: true,
    packages: packages
  };
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(head));
  fs.writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
}

/**
 * Returns npm's environment without variables that an outer `npm start` set for the project's own folder.
 * @param {NodeJS.ProcessEnv} env
 */
function npmEnvironment(env) {
  /** @type {NodeJS.ProcessEnv} */
  var clean = {};
  Object.keys(env).forEach(function (name) {
    if (!/^npm_config_(local_prefix|global|workspaces?|dry_run|engine_strict|omit|include)$/i.test(name)) {
      clean[name] = env[name];
    }
  });
  return clean;
}

/**
 * Installs the package into `folder`. Calls back with the end of npm's output if it failed.
 * @param {NpmCommand} npm
 * @param {string} folder
 * @param {Pin} pin
 * @param {NodeJS.ProcessEnv} env
 * @param {(problem: string) => void} callback
 */
function install(npm, folder, pin, env, callback) {
  writePins(folder, pin);
  var args = npm[1].concat(
    ['install', '--prefix', folder, '--ignore-scripts', '--no-save'],
    ['--no-audit', '--no-fund', '--loglevel=error']
  );
  // stdout belongs to the script that runs next, so npm's output is read here and shown only if npm fails.
  var child = childProcess.spawn(npm[0], args, {
    cwd: folder,
    env: npmEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe']
  });
  var words = '';
  var done = false;
  /** @param {string | Buffer} chunk */
  function note(chunk) {
    words = (words + chunk).slice(-4000);
  }
  /** @param {number | null} code */
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

module.exports = { findNpm: findNpm, install: install };
