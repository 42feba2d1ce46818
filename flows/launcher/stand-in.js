'use strict';

// An object in place of another one that is loaded on first use.

/**
 * @typedef {object} Early what a stand-in does before it loads
 * @property {(name: string | symbol) => any} [get] returns the value of a property, undefined = that of the object
 * @property {(args: any[]) => any} [apply] in place of a call of the object
 */

/**
 * Returns an object that behaves as the one that `load` returns, which it calls on first use.
 * @param {() => any} load
 * @param {Early} [early]
 * @returns {any}
 */
function standIn(load, early = {}) {
  // Can be called and constructed, and has no property of its own that the proxy would have to report.
  const target = function () {}.bind(null);
  delete (/** @type {any} */ (target).name);
  delete (/** @type {any} */ (target).length);
  /** @type {{ exports: any } | undefined} */
  let loaded;
  const actual = () => (loaded ??= { exports: load() }).exports;
  /** @type {ProxyHandler<any>} */
  const handler = {
    get: (_, name) => early.get?.(name) ?? Reflect.get(actual(), name),
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
    apply: (_, self, args) => (early.apply ? early.apply(args) : Reflect.apply(actual(), self, args)),
    construct: (_, args) => Reflect.construct(actual(), args)
  };
  return new Proxy(target, handler);
}

/**
 * Returns a stand-in for a module of which some objects are read when it is required, and used later.
 * @param {() => any} load
 * @param {string[]} members these objects, which get stand-ins of their own
 * @returns {any}
 */
const standInWith = (load, members) =>
  standIn(load, {
    get: (name) => (members.includes(String(name)) ? standIn(() => load()[name]) : undefined)
  });

module.exports = { standIn, standInWith };
