'use strict';
// The drivers by name. One that lacks its engine is made all the same, and says so when it is asked.

const { ProcessDriver } = require('./process');

/** @typedef {import('./driver').Driver} Driver */
/** @typedef {import('../file/schema').DriverName} DriverName */
/** @typedef {{ home: import('../base/home').Home, env: NodeJS.ProcessEnv }} Parts */

/** @type {Partial<Record<DriverName, (parts: Parts) => Driver>>} */
const MAKERS = {
  process: ({ home }) => new ProcessDriver(home)
};

/**
 * @param {Parts} parts
 * @returns {{ get: (name: string) => Driver, close: () => void }} get makes a driver when it is first asked for
 */
function driversOf(parts) {
  /** @type {Map<string, Driver>} */
  const made = new Map();
  return {
    get: (name) => {
      const known = made.get(name);
      if (known) return known;
      const make = MAKERS[/** @type {DriverName} */ (name)];
      if (!make) throw new Error(`The driver ${name} is not available.`);
      const driver = make(parts);
      made.set(name, driver);
      return driver;
    },
    close: () => {
      for (const driver of made.values()) driver.close();
    }
  };
}

module.exports = { driversOf };
