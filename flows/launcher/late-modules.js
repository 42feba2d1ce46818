'use strict';

// Node-RED loads modules at its start that a gateway seldom needs. Each is replaced by a stand-in that loads it on
// first use, through the cache of modules (https://nodejs.org/api/modules.html#requirecache).

const { createRequire, registerHooks } = require('module');
const path = require('path');
const { pathToFileURL } = require('url');

/**
 * @typedef {object} Late
 * @property {string} module
 * @property {string} of the package that requires it
 * @property {string[]} [members] objects in it that are read when it is required, and used later
 */

/** Without an editor. @type {Late[]} */
const OF_EDITOR = [
  { module: '@node-red/editor-api', of: 'node-red', members: ['auth'] },
  { module: 'tar', of: '@node-red/registry' },
  { module: 'moment-timezone', of: '@node-red/util' },
  { module: 'jsonata', of: '@node-red/util' },
  // of Node-RED 5
  { module: './lib/jsonata', of: '@node-red/util' }
];
/** Of the node html. @type {Late[]} */
const OF_NODES = [{ module: 'cheerio', of: '@node-red/nodes' }];
/** The module of the node http request. It is an ES module, which has no cache to put a stand-in into. */
const GOT = 'got';
const LATE_GOT = pathToFileURL(path.join(__dirname, 'late-got.mjs')).href;

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

/** Replaces got until one module has imported it, at the start of Node-RED. */
function replaceGot() {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      if (specifier !== GOT || !context.parentURL?.includes('/@node-red/nodes/')) return found;
      setImmediate(() => hooks.deregister());
      return { ...found, url: `${LATE_GOT}?${new URLSearchParams({ of: found.url })}`, format: 'module' };
    }
  });
}

/**
 * Call it before Node-RED is loaded.
 * @param {{ hasEditor: boolean, base?: NodeJS.Require }} options base: resolves node-red
 */
function loadLate({ hasEditor, base = require }) {
  for (const late of [...OF_NODES, ...(hasEditor ? [] : OF_EDITOR)]) {
    try {
      replace(late, base);
    } catch {
      // Another layout of Node-RED: it loads the module at its start.
    }
  }
  // Without an editor, nodes that the flow does not use are not loaded at all.
  if (hasEditor) replaceGot();
}

module.exports = { loadLate, standIn };
