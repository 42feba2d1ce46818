'use strict';

// Node-RED loads modules at its start that a gateway seldom needs. Each is replaced by a stand-in that loads it on
// first use, through the cache of modules (https://nodejs.org/api/modules.html#requirecache).

const { createRequire, registerHooks } = require('module');
const path = require('path');
const { pathToFileURL } = require('url');
const { lateExpress } = require('./late-express');
const { standIn, standInWith } = require('./stand-in');

/**
 * @typedef {object} Late
 * @property {string} module
 * @property {string} of the package that requires it
 * @property {(load: () => any) => any} [stand] makes the stand-in, default standIn()
 */

/** Without an editor. @type {Late[]} */
const OF_EDITOR = [
  { module: '@node-red/editor-api', of: 'node-red', stand: (load) => standInWith(load, ['auth']) },
  { module: 'express', of: 'node-red', stand: lateExpress },
  { module: '@node-rs/bcrypt', of: 'node-red' },
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
 * Puts a stand-in for a module into the cache. Does nothing if the module is loaded already.
 * @param {Late} late
 * @param {NodeJS.Require} base resolves the package
 */
function replace({ module, of, stand = standIn }, base) {
  const nodeRed = createRequire(base.resolve('node-red'));
  const owner = of === 'node-red' ? nodeRed : createRequire(nodeRed.resolve(of));
  const file = owner.resolve(module);
  if (owner.cache[file]) return;
  const load = () => {
    if (owner.cache[file] === entry) delete owner.cache[file];
    return owner(module);
  };
  const id = { id: file, filename: file, path: '' };
  /** @type {any} */
  const entry = { ...id, loaded: true, children: [], paths: [], parent: null, exports: stand(load) };
  owner.cache[file] = entry;
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

module.exports = { loadLate };
