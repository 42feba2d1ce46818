'use strict';

const HALF = 1 << 23;
const WINDOW_MS = 128000;

/**
 * True if a notification is newer than the newest one so far (RFC 7641, 3.4).
 * @param {{ number: number, at: number }} before its number and its arrival time, ms
 * @param {{ number: number, at: number }} now
 */
function isFresher(before, now) {
  return (
    (before.number < now.number && now.number - before.number < HALF) ||
    (before.number > now.number && before.number - now.number > HALF) ||
    now.at > before.at + WINDOW_MS
  );
}

module.exports = { isFresher };
