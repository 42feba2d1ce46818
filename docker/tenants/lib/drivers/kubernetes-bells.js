'use strict';
// Tells when the pod of a tenant may have changed, so that nobody asks the API server each second. A bell is only a
// hint: who hears it looks at the object itself. So a lost or doubled event costs a request, never a wrong state.

const { ApiRefusal } = require('./kubernetes-client');

/** Time until the next try after a watch ended, ms: doubles from the first to the last, unless there were events. */
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 5000;

/** Rings are kept until somebody waits. */
class Bell {
  #isRung = false;
  /** @type {ApiRefusal | null} */
  #refusal = null;
  #wake = () => {};

  /** @param {() => void} end required when nobody waits any more */
  constructor(end) {
    this.end = end;
  }

  /** @param {ApiRefusal | null} [refusal] nothing will ring, because the server refuses the watch */
  ring(refusal = null) {
    this.#isRung = true;
    this.#refusal ??= refusal;
    this.#wake();
  }

  /** @param {number} mostMs @throws {ApiRefusal} */
  async wait(mostMs) {
    if (!this.#isRung) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, mostMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve(undefined);
        };
      });
    }
    const refusal = this.#refusal;
    this.#isRung = false;
    this.#refusal = null;
    if (refusal) throw refusal;
  }
}

/** One watch for the pods of all tenants, while somebody listens. */
class PodBells {
  #client;
  #path;
  /** @type {Map<string, Set<Bell>>} */
  #bells = new Map();
  /** @type {AbortController | null} */
  #watch = null;

  /** @param {import('./kubernetes-client').KubernetesClient} client */
  constructor(client) {
    this.#client = client;
    const query = new URLSearchParams({
      watch: '1',
      labelSelector: 'seganet.tenant',
      allowWatchBookmarks: 'true'
    });
    this.#path = client.path('/api/v1', `pods?${query}`);
  }

  /** @param {string} pod its name @returns {Bell} */
  listen(pod) {
    const those = this.#bells.get(pod) ?? new Set();
    const bell = new Bell(() => {
      those.delete(bell);
      if (those.size === 0 && this.#bells.get(pod) === those) this.#bells.delete(pod);
      if (this.#bells.size === 0) this.close();
    });
    this.#bells.set(pod, those.add(bell));
    if (!this.#watch) {
      this.#watch = new AbortController();
      void this.#follow(this.#watch.signal);
    }
    return bell;
  }

  close() {
    this.#watch?.abort();
    this.#watch = null;
  }

  /** @param {AbortSignal} signal */
  async #follow(signal) {
    // Without a version, the server begins with all pods there are.
    let version = '';
    let waitMs = FIRST_WAIT_MS;
    const take = (/** @type {{ type: string, object: any }} */ { type, object }) => {
      waitMs = FIRST_WAIT_MS;
      version = object.metadata.resourceVersion;
      if (type !== 'BOOKMARK') this.#ring([object.metadata.name]);
    };
    while (!signal.aborted) {
      try {
        const path = version ? `${this.#path}&resourceVersion=${version}` : this.#path;
        await this.#client.watch(path, take, signal);
      } catch (error) {
        if (signal.aborted) return;
        const refusal = error instanceof ApiRefusal && error.status !== 410 ? error : null;
        if (refusal) this.#watch = null;
        if (error instanceof ApiRefusal) version = '';
        // The server may not send the events of the meantime again, so each tenant is looked at.
        this.#ring(this.#bells.keys(), refusal);
        if (refusal) return;
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      waitMs = Math.min(2 * waitMs, LAST_WAIT_MS);
    }
  }

  /** @param {Iterable<string>} pods @param {ApiRefusal | null} [refusal] */
  #ring(pods, refusal = null) {
    for (const pod of pods) for (const bell of this.#bells.get(pod) ?? []) bell.ring(refusal);
  }
}

exports.PodBells = PodBells;
