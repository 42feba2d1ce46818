'use strict';
// A kafka uplink whose user may not do everything: a real broker with its StandardAuthorizer.

const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { KafkaClient, readTopics } = require('../../../bench/harness/kafka/client');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { Rig } = require('./rig');

const { describe } = needs(...kafkaTools());

jest.setTimeout(120000);

describe('the kafka uplink of a user with few permissions', () => {
  /** @type {KafkaBroker} */
  let broker;
  /** @type {KafkaClient} */
  let client;
  /** @type {Rig[]} */
  const rigs = [];
  let number = 0;
  let own = '';

  beforeAll(async () => {
    broker = await new KafkaBroker({
      login: { user: 'gateway', password: 'secret-1', mechanism: 'PLAIN' },
      lines: [
        'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users=User:ANONYMOUS',
        'allow.everyone.if.no.acl.found=false',
        'auto.create.topics.enable=true'
      ]
    }).start();
    client = new KafkaClient(broker.plainAddress);
  });
  beforeEach(() => {
    own = `t${++number}`;
  });
  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.stop();
  });
  afterAll(async () => {
    await client?.close();
    await broker?.stop();
  });

  /** @param {object} [stage] @param {object} [settings] of the cluster @param {object} [options] of Rig */
  function start(stage = {}, settings = {}, options = {}) {
    const login = { sasl: 'plain', username: 'gateway', password: 'secret-1' };
    const rig = new Rig(
      { brokers: broker.address, ...login, ...settings },
      { stage: { topic: `${own}.{class}`, envelopeTopic: `${own}.{class}`, ...stage }, ...options }
    );
    rigs.push(rig);
    return rig;
  }

  const values = async (/** @type {string} */ topic, /** @type {number} */ count) => {
    const got = await readTopics(broker.plainAddress, [topic], ({ length }) => length >= count);
    return got.map(({ value }) => String(value));
  };

  test.each([
    ['neither see nor write it', []],
    ['see it, but not write it', /** @type {const} */ (['DESCRIBE'])]
  ])('holds the records of a topic if it may %s, and sends them in order once it may', async (_, allowed) => {
    const topic = `${own}.normal`;
    await client.createTopics([topic], 1);
    for (const operation of allowed) await client.allow('gateway', topic, operation);
    const rig = start();
    for (let i = 0; i < 20; i++) rig.push('d', String(i));
    const state = await rig.reach('refused');
    expect(state).toMatchObject({ code: 'TOPIC_AUTHORIZATION_FAILED', deadLetters: 0 });
    expect(state.reason).toContain(
      `The cluster does not allow this gateway to write to the topic "${topic}". Allow it (ACL Write and Describe); the records wait.`
    );
    expect(state.reason).not.toMatch(/Another session/);
    expect(rig.completed.size).toBe(0);
    await client.allow('gateway', topic, 'WRITE');
    await client.allow('gateway', topic, 'DESCRIBE');
    await rig.allDone();
    await rig.reach('connected');
    expect(await values(topic, 20)).toEqual([...Array(20).keys()].map(String));
    expect(rig.state.deadLetters).toBe(0);
  });

  test('needs no permission of the cluster: only Write and Describe of the topic', async () => {
    const topic = `${own}.normal`;
    await client.createTopics([topic], 1);
    await client.allow('gateway', topic, 'WRITE');
    const rig = start();
    rig.push('d', 'one');
    await rig.allDone();
    expect(await values(topic, 1)).toEqual(['one']);
  });

  test('holds its records when a permission is taken away while it sends', async () => {
    const topic = `${own}.normal`;
    await client.createTopics([topic], 1);
    await client.allow('gateway', topic, 'WRITE');
    const rig = start();
    rig.push('d', '0');
    await rig.allDone();
    await client.allow('gateway', topic, 'WRITE', false);
    for (let i = 1; i < 10; i++) rig.push('d', String(i));
    await rig.reach('refused');
    expect(rig.completed.size).toBe(1);
    await client.allow('gateway', topic, 'WRITE');
    await rig.allDone();
    expect(await values(topic, 10)).toEqual([...Array(10).keys()].map(String));
  });

  test('holds its records if it may not create their topic', async () => {
    const rig = start({ create: true });
    rig.push('d', 'one');
    const state = await rig.reach('refused');
    expect(state.code).toBe('TOPIC_AUTHORIZATION_FAILED');
    expect(rig.completed.size).toBe(0);
    const topic = `${own}.normal`;
    await client.allow('gateway', topic, 'CREATE');
    await client.allow('gateway', topic, 'WRITE');
    await rig.allDone();
    expect(await values(topic, 1)).toEqual(['one']);
  });

  test('holds its records while its password is wrong', async () => {
    const rig = start({}, { password: 'wrong' }, { log: true });
    rig.push('d', 'one');
    const state = await rig.reach('refused');
    expect(state.reason).toMatch(/refuses this gateway .* Check the user name, the password/);
    // It is on disk, which is safe.
    await rig.allDone();
    expect(rig.state).toMatchObject({ state: 'refused', acknowledged: 0, deadLetters: 0 });
  });

  test('keeps a record that is too large as a dead letter with the reason', async () => {
    const topic = `${own}.normal`;
    await client.createTopics([topic], 1, [{ name: 'max.message.bytes', value: '2000' }]);
    await client.allow('gateway', topic, 'WRITE');
    const rig = start({}, {}, { log: true });
    rig.push('d', 'one');
    rig.push('d', Buffer.alloc(5000));
    rig.push('d', 'two');
    expect(await values(topic, 2)).toEqual(['one', 'two']);
    await eventually(() => rig.state.deadLetters === 1, { what: 'one dead letter' });
    await rig.allDone();
    const { letters } = await eventually(
      async () => {
        const page = await rig.store.deadLetters({ after: 0, limit: 10 });
        return page.letters.length > 0 && page;
      },
      { what: 'the dead letter in the log' }
    );
    expect(letters).toEqual([
      expect.objectContaining({ device: 'd', topic: 'hall/temp', class: 3, records: 1, code: 10 })
    ]);
    expect(letters[0].reason).toMatch(/Raise max\.message\.bytes of the topic/);
  });
});
