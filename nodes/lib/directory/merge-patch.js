'use strict';
// JSON merge patches (RFC 7396). Pure.

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} target not changed
 * @param {unknown} patch
 * @returns {unknown}
 */
function applyPatch(target, patch) {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, applyPatch(result.get(key), value));
  }
  // fromEntries() also makes an own property of __proto__.
  return Object.fromEntries(result);
}

/**
 * @param {Record<string, unknown>} before
 * @param {Record<string, unknown>} after
 * @returns {Record<string, unknown>} the patch that makes `after` of `before`
 */
function patchOf(before, after) {
  /** @type {[string, unknown][]} */
  const patch = [];
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.push([key, null]);
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isObject(old) && isObject(value)) {
      const inner = patchOf(old, value);
      if (Object.keys(inner).length > 0) patch.push([key, inner]);
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch.push([key, value]);
  }
  return Object.fromEntries(patch);
}

module.exports = { applyPatch, isObject, patchOf };
