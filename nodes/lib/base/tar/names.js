'use strict';
// Names inside a backup: which are allowed, and which targets a link may have.

const MAX_PART_BYTES = 255;
const MAX_DEPTH = 100;

/**
 * True if the name is relative, has plain parts only, and so stays inside the folder it is unpacked into.
 * @param {string} name
 */
function isInside(name) {
  const parts = name.split('/');
  return parts.length <= MAX_DEPTH && parts.every(isPlain);
}

/** @param {string} part */
function isPlain(part) {
  const isName = part !== '' && part !== '.' && part !== '..';
  return isName && !part.includes('\0') && Buffer.byteLength(part) <= MAX_PART_BYTES;
}

/**
 * True if a link stays inside the folder, whatever else is in it: it goes up first, by at most the depth of the real
 * folders around it, and then only down. With `a/../b`, `a` could be another link, and `..` the parent of its target.
 * @param {string} name of the link
 * @param {string} target
 */
function isSafeLink(name, target) {
  const parts = target.replace(/\/$/, '').split('/');
  const up = parts.findIndex((part) => part !== '..');
  const depth = name.split('/').length - 1;
  if (up < 0) return parts.length <= depth;
  return up <= depth && (parts.slice(up).every(isPlain) || target === '.');
}

module.exports = { isInside, isSafeLink };
