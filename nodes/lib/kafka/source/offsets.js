'use strict';
// The records of a consumer that were handed over, by partition. An offset may be committed when all records before it
// are safe.
//
// A consumer may read an offset again that it has passed: after a rebalance, from a fetch that was under way, or if the
// group was reset or the topic was made again. It is unknown then whether it reads the following offsets again, and
// whether they denote the same records. Those that are not safe yet therefore keep the commits back until they are, and
// if their offsets are read again, the records are handed over again.

/**
 * @typedef {object} Entry
 * @property {number} id
 * @property {bigint} offset
 * @property {boolean} isDone
 *
 * @typedef {object} Partition
 * @property {string} topic
 * @property {number} partition
 * @property {Entry[]} entries since the last commit, in order
 * @property {number} done number of entries at the head that are done
 * @property {Set<Entry>} earlier not done, read before the reading went back
 * @property {bigint} last offset
 * @property {bigint} committed the latest commit, -1 = none
 * @property {bigint} again from where the client reads again, although the group was not reset; -1 = it does not
 * @property {number} leaderEpoch of the last record
 *
 * @typedef {{ topic: string, partition: number, offset: bigint, leaderEpoch: number }} Commit offset: of the next
 *   record to read
 */

class Offsets {
  /** @type {Map<string, Partition>} */
  #partitions = new Map();
  /** @type {Map<number, { partition: Partition, entry: Entry }>} records that are not done, by id */
  #open = new Map();
  #lastId = 0;
  /** Records whose offsets were committed, since the start. */
  commits = 0;

  /** Number of records that are not done. */
  get size() {
    return this.#open.size;
  }

  /**
   * Adds a record that was read.
   * @param {string} topic
   * @param {number} partition
   * @param {bigint} offset
   * @param {number} leaderEpoch
   * @returns {number} its id; 0 = it was added before, and is not committed
   */
  add(topic, partition, offset, leaderEpoch) {
    const key = `${topic}:${partition}`;
    let known = this.#partitions.get(key);
    if (!known) {
      known = {
        topic,
        partition,
        entries: [],
        done: 0,
        earlier: new Set(),
        last: offset,
        committed: -1n,
        again: -1n,
        leaderEpoch
      };
      this.#partitions.set(key, known);
    } else if (offset <= known.last) {
      // After a rebalance, the consumer reads again from the last commit.
      if (known.entries.some((entry) => entry.offset === offset)) return 0;
      // It was committed while the client began to read again.
      if (known.again >= 0n && offset >= known.again && offset < known.committed) return 0;
      for (const entry of known.entries) if (!entry.isDone) known.earlier.add(entry);
      known.entries = [];
      known.done = 0;
    } else known.again = -1n;
    const entry = { id: ++this.#lastId, offset, isDone: false };
    known.entries.push(entry);
    known.last = offset;
    known.leaderEpoch = leaderEpoch;
    this.#open.set(entry.id, { partition: known, entry });
    return entry.id;
  }

  /** A record is safe, or will never be one. Ids that are not known are ignored. @param {number} id */
  done(id) {
    const found = this.#open.get(id);
    if (!found) return;
    this.#open.delete(id);
    const { partition, entry } = found;
    entry.isDone = true;
    partition.earlier.delete(entry);
    while (partition.entries[partition.done]?.isDone) partition.done++;
  }

  /** Returns what may be committed and is not. @returns {Commit[]} */
  due() {
    return [...this.#partitions.values()].flatMap((known) => {
      const { topic, partition, entries, done, committed, leaderEpoch } = known;
      if (done === 0) return [];
      const offset = least(entries[done - 1].offset + 1n, known);
      return offset === committed ? [] : [{ topic, partition, offset, leaderEpoch }];
    });
  }

  /**
   * Returns those of earlier due commits whose partitions were not forgotten since.
   * @param {Commit[]} commits of due()
   * @returns {Commit[]}
   */
  stillDue(commits) {
    return commits.filter(({ topic, partition, offset }) =>
      this.#partitions.get(`${topic}:${partition}`)?.entries.some((each) => each.offset < offset)
    );
  }

  /** The cluster has committed these. @param {Commit[]} commits of due() */
  committed(commits) {
    for (const { topic, partition, offset } of commits) {
      const known = this.#partitions.get(`${topic}:${partition}`);
      if (!known) continue;
      let count = 0;
      while (count < known.done && known.entries[count].offset < offset) count++;
      known.entries.splice(0, count);
      known.done -= count;
      known.committed = offset;
      this.commits += count;
    }
  }

  /**
   * The group has committed a partition up to an offset, perhaps by another member: what is before it is delivered.
   * @param {string} topic
   * @param {number} partition
   * @param {bigint} offset of the next record to read
   * @param {bigint} from where the client reads on
   */
  passed(topic, partition, offset, from) {
    const known = this.#partitions.get(`${topic}:${partition}`);
    if (!known) return;
    known.again = from;
    if (known.committed >= offset) return;
    const isBehind = (/** @type {Entry} */ entry) => entry.offset < offset;
    for (const entry of [...known.entries, ...known.earlier].filter(isBehind)) {
      this.#open.delete(entry.id);
      known.earlier.delete(entry);
    }
    known.entries = known.entries.filter((entry) => !isBehind(entry));
    const open = known.entries.findIndex(({ isDone }) => !isDone);
    known.done = open < 0 ? known.entries.length : open;
    known.committed = offset;
  }

  /**
   * Returns the first offset that is not committed.
   * @param {string} topic
   * @param {number} partition
   * @returns {bigint | null} null: nothing was read
   */
  uncommitted(topic, partition) {
    const known = this.#partitions.get(`${topic}:${partition}`);
    if (!known) return null;
    const next = known.last + 1n > known.committed ? known.last + 1n : known.committed;
    return least(known.entries[0]?.offset ?? next, known);
  }

  /**
   * Forgets the partitions that another consumer of the group has now.
   * @param {(topic: string, partition: number) => boolean} isOurs
   */
  keep(isOurs) {
    for (const [key, known] of this.#partitions) {
      if (!isOurs(known.topic, known.partition)) this.#drop(key, known);
    }
  }

  /** Forgets everything: the consumer reads again from the last commits. */
  clear() {
    this.#partitions.clear();
    this.#open.clear();
  }

  /** @param {string} key @param {Partition} known */
  #drop(key, known) {
    for (const { id } of [...known.entries, ...known.earlier]) this.#open.delete(id);
    this.#partitions.delete(key);
  }
}

/** @param {bigint} offset @param {Partition} known @returns {bigint} the offset, or an earlier one that is not safe */
function least(offset, { earlier }) {
  for (const entry of earlier) if (entry.offset < offset) offset = entry.offset;
  return offset;
}

exports.Offsets = Offsets;
