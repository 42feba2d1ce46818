'use strict';

// Stands for Express, which a gateway without an editor does not use: it opens no HTTP server. Node-RED makes apps all
// the same, and nodes add their endpoints to them.

const { METHODS } = require('http');
const { standIn } = require('./stand-in');

/** Methods of an app that add to what it does with later requests. */
const ADDING = new Set([
  ...METHODS.map((method) => method.toLowerCase()),
  ...['all', 'del', 'disable', 'enable', 'engine', 'param', 'set', 'use']
]);

/** True for app.get('title') and app.set('title'), which return a setting. @param {string} name @param {any[]} args */
const reads = (name, args) => (name === 'get' || name === 'set') && args.length === 1;

/**
 * Returns an app that is made on first use, and then gets what was added to it before.
 * @param {() => any} make
 */
function lateApp(make) {
  /** @type {{ name: string, args: any[] }[]} */
  const added = [];
  /** @type {any} */
  let made;
  const load = () => {
    if (made) return made;
    made = make();
    for (const { name, args } of added.splice(0)) made[name](...args);
    return made;
  };
  const add = (/** @type {string} */ name, /** @type {any[]} */ args) => {
    if (made || reads(name, args)) return load()[name](...args);
    added.push({ name, args });
    return app;
  };
  const app = standIn(load, {
    get: (name) =>
      !made && typeof name === 'string' && ADDING.has(name)
        ? (/** @type {any[]} */ ...args) => add(name, args)
        : undefined
  });
  return app;
}

/** @param {() => any} load returns Express @returns {any} */
const lateExpress = (load) => standIn(load, { apply: () => lateApp(() => load()()) });

module.exports = { lateExpress };
