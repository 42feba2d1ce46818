'use strict';
// What an error of the Kafka client means for the records of a request.

/**
 * The meaning of an error:
 * - topic: the topic cannot take records until an operator acts
 * - name: no topic can have this name
 * - size: the request is too large for the topic
 * - record: a record of the request is invalid
 * - access: the cluster refuses this gateway
 * - busy: the partition cannot take records at present
 * - connection: no broker answered
 * @typedef {'topic' | 'name' | 'size' | 'record' | 'access' | 'busy' | 'connection'} Kind
 * @typedef {{ kind: Kind, code: string, number: number, detail: string }} Meaning number: Kafka's, 0 = none
 */

/** @type {Record<string, Kind>} by Kafka's name of the error */
const KINDS = {
  UNKNOWN_TOPIC_OR_PARTITION: 'topic',
  TOPIC_AUTHORIZATION_FAILED: 'topic',
  NOT_REPLICATED: 'topic', // the gateway's own: replica-check.js
  INVALID_TOPIC_EXCEPTION: 'name',
  MESSAGE_TOO_LARGE: 'size',
  RECORD_LIST_TOO_LARGE: 'size',
  INVALID_RECORD: 'record',
  INVALID_TIMESTAMP: 'record',
  UNSUPPORTED_FOR_MESSAGE_FORMAT: 'record',
  CLUSTER_AUTHORIZATION_FAILED: 'access',
  SASL_AUTHENTICATION_FAILED: 'access',
  UNSUPPORTED_SASL_MECHANISM: 'access',
  ILLEGAL_SASL_STATE: 'access'
};
const UNKNOWN_TOPIC = /^Unknown topic /;
/** Codes of Node.js for a certificate that is not accepted. */
const CERTIFICATE =
  /^(CERT_|ERR_TLS_CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_SSL_.*(CERTIFICATE|UNKNOWN_CA))/;

/**
 * Returns an error and all that it was made of.
 * @param {any} error
 * @param {Set<any>} [seen]
 * @returns {Generator<any>}
 */
function* chain(error, seen = new Set()) {
  if (!error || typeof error !== 'object' || seen.has(error)) return;
  seen.add(error);
  yield error;
  if (Array.isArray(error.errors)) for (const each of error.errors) yield* chain(each, seen);
  yield* chain(error.cause, seen);
}

/** @param {unknown} error @returns {Meaning} */
function meaningOf(error) {
  const all = [...chain(error)];
  const answered = all.find(({ apiId }) => typeof apiId === 'string');
  if (answered) {
    const { apiId, apiCode = 0, serverErrorMessage, message } = answered;
    return {
      kind: KINDS[apiId] ?? 'busy',
      code: apiId,
      number: apiCode,
      detail: serverErrorMessage || message
    };
  }
  const unknown = all.find(({ message }) => UNKNOWN_TOPIC.test(message));
  if (unknown) {
    return { kind: 'topic', code: 'UNKNOWN_TOPIC_OR_PARTITION', number: 3, detail: unknown.message };
  }
  const own = all.find(
    ({ code = '' }) => typeof code === 'string' && code !== '' && !code.startsWith('PLT_')
  );
  const last = all.at(-1);
  const detail = String((own ?? last)?.message ?? error);
  if (all.some(({ code }) => code === 'PLT_KFK_AUTHENTICATION')) {
    return { kind: 'access', code: 'SASL', number: 58, detail };
  }
  const code = own?.code ?? (/timed out/i.test(detail) ? 'ETIMEDOUT' : 'ECONNRESET');
  return { kind: CERTIFICATE.test(code) ? 'access' : 'connection', code, number: 0, detail };
}

/**
 * Returns the sentence about a topic that takes no records.
 * @param {string} topic
 * @param {Meaning} meaning of the kind 'topic'
 */
function topicSentence(topic, { code, detail }) {
  if (code === 'NOT_REPLICATED')
    return `Two brokers must have each record (Acknowledge: replicated), but the topic "${topic}" does not provide it: ${detail}. The records wait.`;
  return code === 'TOPIC_AUTHORIZATION_FAILED'
    ? `The cluster does not allow this gateway to write to the topic "${topic}". Allow it (ACL Write and Describe); the records wait.`
    : `The topic "${topic}" does not exist in the cluster. Create it, or choose another topic in the kafka uplink node; the records wait.`;
}

/** Returns the sentence about a cluster that refuses the gateway. @param {Meaning} meaning of the kind 'access' */
function accessSentence({ code, detail }) {
  if (CERTIFICATE.test(code)) {
    return `The certificate of the Kafka cluster is not accepted (${code}). Correct the TLS node of the cluster.`;
  }
  if (code === 'CLUSTER_AUTHORIZATION_FAILED') {
    return `The Kafka cluster does not allow this gateway's user to do this (${detail}). Add the ACL of the cluster; the records wait.`;
  }
  return `The Kafka cluster refuses this gateway (${detail}). Check the user name, the password and the mechanism in the cluster node.`;
}

module.exports = { accessSentence, meaningOf, topicSentence };
