'use strict';

// Node-RED loads modules at its start that a gateway without an editor seldom needs. Each is replaced by a stand-in
// that loads it on first use, through the cache of modules (https://nodejs.org/api/modules.html#requirecache).

const { createRequire } = require('module');

/**
 * @typedef {object} Late
 * @property {string} module
 * @property {string} of the package that requires it
 * @property {string[]} [members] objects in it that are read when it is required, and used later
 */

/** @type {Late[]} */
const LATE = [
  { module: '@node-red/editor-api', of: 'node-red', members: ['auth'] },
  { module: 'tar', of: '@node-red/registry' },
  { module: 'moment-timezone', of: '@node-red/util' },
  { module: 'jsonata', of: '@node-red/util' },
  // of Node-RED 5
  { module: './lib/jsonata', of: '@node-red/util' }
];

/**
 * Returns an object that behaves as the one that `load` returns, which it calls on first use.
 * @param {() => any} load
 * @param {string[]} [members] objects in it that get a stand-in of their own when they are read
 * @returns {any}
 */
function standIn(load, members = []) {
  // Can be called and constructed, and has no property of its own that the proxy would have to report.
  const target = function () {}.bind(null);
  delete (/** @type {any} */ (target).name);
  delete (/** @type {any} */ (target).length);
  /** @type {{ exports: any } | undefined} */
  let loaded;
  const actual = () => (loaded ??= { exports: load() }).exports;
  /** @type {ProxyHandler<any>} */
  const handler = {
    get: (_, name) =>
      members.includes(String(name)) ? standIn(() => actual()[name]) : Reflect.get(actual(), name),
    set: (_, name, value) => Reflect.set(actual(), name, value),
    has: (_, name) => Reflect.has(actual(), name),
    deleteProperty: (_, name) => Reflect.deleteProperty(actual(), name),
    ownKeys: () => Reflect.ownKeys(actual()),
    getPrototypeOf: () => Reflect.getPrototypeOf(actual()),
    defineProperty: (_, name, property) => Reflect.defineProperty(actual(), name, property),
    // A proxy may not report a property as fixed that its target does not have.
    getOwnPropertyDescriptor: (_, name) => {
      const found = Reflect.getOwnPropertyDescriptor(actual(), name);
      return found && { ...found, configurable: true };
    },
    apply: (_, self, args) => Reflect.apply(actual(), self, args),
    construct: (_, args) => Reflect.construct(actual(), args)
  };
  return new Proxy(target, handler);
}

/**
 * Puts a stand-in for a module into the cache. Does nothing if the module is loaded already.
 * @param {Late} late
 * @param {NodeJS.Require} base resolves the package
 */
function replace({ module, of, members }, base) {
  const nodeRed = createRequire(base.resolve('node-red'));
  const owner = of === 'node-red' ? nodeRed : createRequire(nodeRed.resolve(of));
  const file = owner.resolve(module);
  if (owner.cache[file]) return;
  const load = () => {
    delete owner.cache[file];
    return owner(module);
  };
  const entry = { id: file, filename: file, path: '', loaded: true, children: [], paths: [], parent: null };
  owner.cache[file] = /** @type {any} */ ({ ...entry, exports: standIn(load, members) });
}

/**
 * Call it before Node-RED is loaded, and only without an editor.
 * @param {NodeJS.Require} [base] resolves node-red
 */
function loadLate(base = require) {
  for (const late of LATE) {
    try {
      replace(late, base);
    } catch {
      // Another layout of Node-RED: it loads the module at its start.
    }
  }
}

module.exports = { loadLate, standIn };
