'use strict';

const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

/**
 * Returns the murmur2 hash by which Kafka's own clients in Java choose partitions. The client package has the same hash
 * with BigInt, which costs several microseconds a record.
 * @param {Uint8Array} bytes
 * @returns {number} 32 bits, signed
 */
function murmur2(bytes) {
  const { length } = bytes;
  const whole = length & ~3;
  let hash = SEED ^ length;
  for (let at = 0; at < whole; at += 4) {
    let part = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    part = Math.imul(part, FACTOR);
    part ^= part >>> 24;
    part = Math.imul(part, FACTOR);
    hash = Math.imul(hash, FACTOR) ^ part;
  }
  const rest = length - whole;
  if (rest > 2) hash ^= bytes[whole + 2] << 16;
  if (rest > 1) hash ^= bytes[whole + 1] << 8;
  if (rest > 0) hash = Math.imul(hash ^ bytes[whole], FACTOR);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, FACTOR);
  return hash ^ (hash >>> 15);
}

/**
 * Returns the partition of a key, as Kafka's clients in Java choose it.
 * @param {Uint8Array} key
 * @param {number} partitions of the topic, 1 or more
 */
function partitionOf(key, partitions) {
  return (murmur2(key) & 0x7fffffff) % partitions;
}

module.exports = { murmur2, partitionOf };
