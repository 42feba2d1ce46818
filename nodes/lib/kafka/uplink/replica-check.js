'use strict';
// With _Acknowledge: replicated_, a topic counts only if at least two brokers have each acknowledged record.

const LEAST = 2;
const TOPIC = 2;
const SETTING = 'min.insync.replicas';

/**
 * @param {any} client the client's module
 * @param {any} connection to a broker
 * @param {string} topic
 * @param {{ replicas: number[] }[]} partitions from the metadata
 * @param {(error: unknown) => void} done an error with the reason in its message
 */
function checkReplicas(client, connection, topic, partitions, done) {
  const least = Math.min(...partitions.map(({ replicas }) => replicas.length));
  if (least < LEAST) return done(notReplicated(`it has ${least} replica: give it ${LEAST} or more`));
  const resources = [{ resourceType: TOPIC, resourceName: topic, configurationKeys: [SETTING] }];
  client.describeConfigsV1(
    connection,
    resources,
    false,
    false,
    (/** @type {unknown} */ error, /** @type {any} */ answer) => {
      if (error) {
        const { errors = [] } = /** @type {AggregateError} */ (error);
        // Answered, so the connection is good.
        return done(
          errors.length > 0 ? notReplicated('its settings cannot be read: allow DescribeConfigs') : error
        );
      }
      const value = Number(
        answer.results[0]?.configs.find((/** @type {any} */ { name }) => name === SETTING)?.value
      );
      done(value >= LEAST ? null : notReplicated(`its ${SETTING} is ${value}: set it to ${LEAST} or more`));
    }
  );
}

/** @param {string} reason */
function notReplicated(reason) {
  return Object.assign(new Error(reason), { apiId: 'NOT_REPLICATED' });
}

exports.checkReplicas = checkReplicas;
