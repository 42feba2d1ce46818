'use strict';

/** As in Node-RED, which replaces a reference only where it is the whole value. */
const REFERENCE = /^\$(?:\{([^\s{}]+)\}|\(([^\s()]+)\))$/;

/**
 * @param {unknown} value of a property
 * @returns {string} NAME if it is ${NAME} or $(NAME), else ''
 */
function variableIn(value) {
  const [, name, other] = REFERENCE.exec(typeof value === 'string' ? value : '') ?? [];
  return name ?? other ?? '';
}

/**
 * Returns a property as text, with the value of the variable that it names, '' for one that is not set.
 * @param {unknown} value null and undefined: ''
 * @param {Record<string, string | undefined>} env
 * @returns {string}
 */
function resolved(value, env) {
  const name = variableIn(value);
  return name ? (env[name] ?? '') : String(value ?? '');
}

module.exports = { resolved, variableIn };
