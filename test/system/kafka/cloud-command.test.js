'use strict';
// npm run cloud with a Kafka that creates topics on request: what the lamp posts arrives in the topic.

const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { readTopics } = require('../../../bench/harness/kafka/client');
const { freePort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { cleanEnvironment, cleanUp, run, until } = require('../../runtime/process');

const { test } = needs(...kafkaTools());

jest.setTimeout(180000);
afterEach(cleanUp);

test("writes the lamp's changes to the topic that npm run cloud names", async () => {
  const broker = await new KafkaBroker({ lines: ['auto.create.topics.enable=true'] }).start();
  try {
    const args = ['--port', `${await freePort()}`, '--editor-port', `${await freePort()}`, '--every', '1'];
    const env = cleanEnvironment({ SEGANET_KAFKA: broker.address });
    const cloud = run(process.execPath, ['flows/demo/ocf/main.js', ...args], { env });
    const [, topic] = await cloud.says(/records +Kafka .*, topic (\S+)/, 60000);
    const read = () => readTopics(broker.address, [topic], ({ length }) => length >= 2);
    // The topic is created for the first record.
    const messages = await until(() => read().catch(() => null), { within: 60000, what: 'records in Kafka' });
    expect(messages.every((each) => each.topic === topic)).toBe(true);
    cloud.child.kill('SIGINT');
    expect((await cloud.ended).code).toBe(0);
  } finally {
    await broker.stop();
  }
});
