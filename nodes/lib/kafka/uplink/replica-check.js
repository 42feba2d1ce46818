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
  const resources = [{ resourceType: TOPIC, resourceName: topic, configurationKeys: [SETTING] }];
  client.describeConfigsV1.api(
    connection,
    resources,
    (/** @type {unknown} */ error, /** @type {any} */ answer) => {
      if (error) {
        const { errors = [] } = /** @type {AggregateError} */ (error);
        // Answered, so the connection is good.
        const refused = notReplicated('its settings cannot be read: allow DescribeConfigs');
        return done(errors.length > 0 ? refused : error);
      }
      const { configs = [] } = answer.results[0] ?? {};
      const inSync = Number(configs.find((/** @type {any} */ { name }) => name === SETTING)?.value);
      const replicas = Math.min(...partitions.map((partition) => partition.replicas.length));
      if (!(inSync >= LEAST)) done(notReplicated(`its ${SETTING} is ${inSync}: set it to ${LEAST} or more`));
      else if (replicas < LEAST) done(notReplicated(`it has ${replicas} replica: give it ${LEAST} or more`));
      else done(null);
    }
  );
}

/** @param {string} reason */
function notReplicated(reason) {
  return Object.assign(new Error(reason), { apiId: 'NOT_REPLICATED' });
}

exports.checkReplicas = checkReplicas;
