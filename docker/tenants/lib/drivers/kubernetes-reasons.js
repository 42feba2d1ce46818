'use strict';
// Sentences about a tenant's pod: why it ended, why it does not run yet, and why the cluster makes none.

const { plainText } = require('../base/plain-text');
const { endOf } = require('./driver');

const MOST_CHARACTERS = 400;
/** Events that are read of a StatefulSet. Equal ones are one event with a count; a cluster forgets them in an hour. */
const MOST_EVENTS = 50;
/** What the cluster refuses again: a quota, a policy, a webhook. Other failures, such as a conflict, pass. */
const FINAL = /\bforbidden\b|\bdenied\b|\binvalid\b/i;

/** @param {unknown} text @returns {string} what a terminal can print */
const short = (text) => plainText(String(text ?? '').trim()).slice(0, MOST_CHARACTERS);

/** @param {any} pod @returns {number} how often its container was started again */
const restartsOf = (pod) => pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;

/**
 * @param {any} pod
 * @param {any} before the pod as it was; null, or another pod: it is new
 * @returns {string} how its container ended, '' = it did not
 */
function endIn(pod, before) {
  const { phase, reason, message, containerStatuses } = pod.status ?? {};
  const [status] = containerStatuses ?? [];
  const restarts = before?.metadata?.uid === pod.metadata?.uid ? restartsOf(before) : 0;
  const ended =
    status?.state?.terminated ?? (restartsOf(pod) > restarts ? status?.lastState?.terminated : null);
  // The cluster has ended it: Evicted, for example, because it used more of the node's disk than it may.
  if (phase === 'Failed' && reason) return `was ended by the cluster: ${reason}. ${short(message)}`.trim();
  if (ended) {
    if (ended.reason === 'OOMKilled') return 'was killed because it used more memory than it may';
    return endOf(Number(ended.exitCode ?? 0), null);
  }
  const { reason: waits = '', message: more } = status?.state?.waiting ?? {};
  if (/^(ErrImage|ImagePull|InvalidImage|CrashLoop|CreateContainer.*Error)/.test(waits))
    return `cannot start in the cluster: ${waits}${more ? ` (${short(more)})` : ''}`;
  return '';
}

/** @param {any} pod @returns {string} why it does not run yet, '' = it runs, or that is unknown */
function delayOf(pod) {
  const { phase, conditions = [], containerStatuses } = pod.status ?? {};
  if (phase !== 'Pending') return '';
  const scheduled = conditions.find((/** @type {any} */ { type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') return `the cluster has no machine for it: ${short(scheduled.message)}`;
  const waits = containerStatuses?.[0]?.state?.waiting;
  return `its pod is not started yet${waits ? `: ${short(`${waits.reason} ${waits.message ?? ''}`)}` : ''}`;
}

/** Why a StatefulSet gets no pod, such as a quota. Only events of the cluster tell. */
class Refusals {
  #client;
  /** Events of earlier starts with their counts, by StatefulSet. @type {Map<string, Map<string, number>>} */
  #old = new Map();

  /** @param {import('./kubernetes-client').KubernetesClient} client */
  constructor(client) {
    this.#client = client;
  }

  /** What there is by now does not count any more. @param {string} name of the StatefulSet */
  async forgive(name) {
    const events = await this.#events(name);
    this.#old.set(name, new Map(events.map(({ metadata, count = 1 }) => [metadata.uid, count])));
  }

  /** @param {string} name */
  forget(name) {
    this.#old.delete(name);
  }

  /**
   * @param {string} name of the StatefulSet
   * @param {{ isAny?: boolean }} [options] isAny: also what was forgiven, as a cluster may leave out events, and what
   *   may pass
   * @returns {Promise<string>} '' = none
   */
  async latest(name, { isAny = false } = {}) {
    if (!isAny && !this.#old.has(name)) await this.forgive(name);
    const old = isAny ? null : this.#old.get(name);
    const [last] = (await this.#events(name))
      .filter(({ metadata, count = 1 }) => count > (old?.get(metadata.uid) ?? 0))
      .filter(({ message }) => isAny || FINAL.test(message))
      .sort((a, b) => String(b.lastTimestamp).localeCompare(String(a.lastTimestamp)));
    return last ? `the cluster refuses its pod: ${short(last.message)}` : '';
  }

  /** @param {string} name @returns {Promise<any[]>} */
  async #events(name) {
    const fieldSelector = `involvedObject.kind=StatefulSet,involvedObject.name=${name},reason=FailedCreate`;
    const query = new URLSearchParams({ fieldSelector, limit: String(MOST_EVENTS) });
    const { items } = await this.#client.ask('GET', this.#client.path('/api/v1', `events?${query}`));
    return items ?? [];
  }
}

module.exports = { Refusals, delayOf, endIn };
