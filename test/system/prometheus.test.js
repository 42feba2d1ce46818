'use strict';
// Prometheus itself: it scrapes a gateway, evaluates the alert rules and answers every question of the dashboard.

const { spawnSync } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { needs } = require('../../bench/harness/tools');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { Client } = require('../../flows/demo/ocf/client');
const { startFlow } = require('../fixtures/gateway/deployed');
const { cloudFlow } = require('../fixtures/ocf/gateway-cloud');
const { ScriptedBroker } = require('../fixtures/uplink/scripted-broker');
const { startGateway } = require('../runtime/gateway');
const { ROOT, run, until, temporaryFolder, cleanUp } = require('../runtime/process');
const { ruleTests } = require('./prometheus/alert-cases');

const { describe } = needs('prometheus', 'promtool');

const RULES = path.join(ROOT, 'docs', 'prometheus', 'seganet-alerts.yml');
const DASHBOARD = path.join(ROOT, 'docs', 'grafana', 'seganet-gateway.json');

/** @param {string[]} args @param {string} [input] */
function promtool(args, input) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

describe('promtool', () => {
  afterEach(cleanUp);

  test('accepts the alert rules', () => {
    expect(promtool(['check', 'rules', RULES])).toEqual({
      status: 0,
      output: expect.stringMatching(/SUCCESS: 27 rules found/)
    });
  });

  test('finds that each alert fires when it should, and only then', () => {
    const file = path.join(temporaryFolder(), 'tests.json');
    fs.writeFileSync(file, JSON.stringify(ruleTests(RULES)));
    const { status, output } = promtool(['test', 'rules', file]);
    expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/SUCCESS/) });
  }, 180000);

  test('would find a rule with another limit', () => {
    const folder = temporaryFolder();
    const changed = path.join(folder, 'rules.yml');
    fs.writeFileSync(changed, fs.readFileSync(RULES, 'utf8').replace('> 0.8', '> 0.9'));
    fs.writeFileSync(
      path.join(folder, 'tests.json'),
      JSON.stringify(ruleTests(changed, ['SeganetLogNearlyFull']))
    );
    const { status, output } = promtool(['test', 'rules', path.join(folder, 'tests.json')]);
    expect(status).toBe(1);
    expect(output).toMatch(/SeganetLogNearlyFull/);
  }, 60000);
});

describe('Prometheus', () => {
  /** @type {(() => unknown)[]} */
  const ends = [];
  /** @type {ScriptedBroker} */
  let broker;
  let editor = '';
  let server = '';
  /** @type {Awaited<ReturnType<typeof startOther>>} */
  let other;

  /** A gateway with an OCF cloud that has refused requests, and with Kafka nodes whose cluster does not answer. */
  async function startOther() {
    const [port, httpPort] = [await freePort(), await freePort()];
    const place = { z: 'tab', x: 100, y: 200, engine: 'engine' };
    const home = temporaryFolder();
    const node = { httpPort: String(httpPort) };
    const more = [
      { id: 'cluster', type: 'seganet-kafka', brokers: '127.0.0.1:1' },
      { ...place, id: 'in', type: 'seganet-kafka-source', cluster: 'cluster', topics: 'a', wires: [['to']] },
      { ...place, id: 'to', type: 'seganet-kafka-uplink', cluster: 'cluster', wires: [] }
    ];
    const gateway = await startFlow(cloudFlow(home, port, { node, more }));
    for (const each of [port, httpPort]) await waitForPort(each, '127.0.0.1', 30000);
    const wrong = await Client.open({ host: '127.0.0.1', port });
    await wrong.request('POST', '/oic/sec/account', { body: { di: randomUUID(), accesstoken: 'wrong' } });
    wrong.destroy();
    await fetch(`http://127.0.0.1:${httpPort}/hc/`);
    return { gateway, target: `127.0.0.1:${gateway.adminPort}` };
  }

  beforeAll(async () => {
    broker = await ScriptedBroker.start();
    ends.push(() => broker.close());
    const started = await startGateway({ SEGANET_UPLINK_URL: `mqtt://127.0.0.1:${broker.port}` });
    editor = started.editor;
    const [, port] = await started.gateway.says(/MQTT listener on port (\d+)/);
    const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'd1' });
    const timer = setInterval(() => device.publish('d/d1/t', '{"v":1}', { qos: 0 }), 20);
    ends.push(() => clearInterval(timer));
    ends.push(() => device.endAsync(true));

    other = await startOther();
    ends.push(() => other.gateway.stop());

    const folder = temporaryFolder();
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [
        {
          job_name: 'seganet',
          metrics_path: '/seganet/metrics',
          static_configs: [{ targets: [new URL(editor).host, other.target] }]
        }
      ]
    };
    fs.writeFileSync(path.join(folder, 'prometheus.yml'), JSON.stringify(config));
    const listen = `127.0.0.1:${await freePort()}`;
    const { says } = run('prometheus', [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${listen}`
    ]);
    await says(/Server is ready to receive web requests/);
    server = `http://${listen}/api/v1/`;
  }, 60000);
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
    await cleanUp();
  });

  /** @param {string} question @param {Record<string, string>} [parameters] */
  async function ask(question, parameters = {}) {
    const response = await fetch(`${server}${question}?${new URLSearchParams(parameters)}`);
    const { status, data, error } = await response.json();
    if (status !== 'success') throw new Error(`${parameters.query}: ${error}`);
    return data;
  }
  /**
   * Over the last 30 s.
   * @param {string} expression
   * @returns {Promise<{ metric: object, values: [number, string][] }[]>}
   */
  async function series(expression) {
    const query = expression
      .replaceAll(/\$(instance|engine)/g, '.*')
      .replaceAll('$__rate_interval', '10s')
      .replaceAll('$__range', '1m');
    const end = Date.now() / 1000;
    const { result } = await ask('query_range', {
      query,
      start: String(end - 30),
      end: String(end),
      step: '1'
    });
    return result;
  }

  test('finds nothing to complain about in the names, types and texts of the metrics', async () => {
    const text = await (await fetch(`${editor}seganet/metrics`)).text();
    expect(promtool(['check', 'metrics'], text)).toEqual({ status: 0, output: '' });
    expect(promtool(['check', 'metrics'], '# HELP a A\n# TYPE a counter\na 1\n').status).not.toBe(0);
  });

  test("answers every panel of the dashboard with the gateway's data", async () => {
    /** Panels that have nothing to show while all is well. */
    const quiet = ['Drops, by reason', 'Backlog, by class', 'Time until the backlog is sent', 'Lag'];
    const { panels } = JSON.parse(fs.readFileSync(DASHBOARD, 'utf8'));
    const targets = panels.flatMap((/** @type {any} */ { title, targets: own = [] }) =>
      own.map((/** @type {any} */ { expr }) => ({ title, expr }))
    );
    expect(targets.length).toBeGreaterThan(30);
    /** @type {string[]} */
    let empty = [];
    await until(
      async () => {
        const results = await Promise.all(
          targets.map(async ({ title, expr }) => [title, await series(expr)])
        );
        empty = results.flatMap(([title, result]) =>
          result.length === 0 && !quiet.includes(title) ? [title] : []
        );
        return empty.length === 0;
      },
      { within: 60000, what: () => `data for ${empty}` }
    );
    // The arrivals by class, which are computed, are those that are counted.
    const computed = targets.find(({ title }) => title === 'Records in, by class').expr;
    const rates = async () => {
      const [ours] = await series(`sum(${computed})`);
      const [counted] = await series('sum(rate(seganet_records_received_total[10s]))');
      return [ours, counted].map((row) => Number(row?.values.at(-1)?.[1]));
    };
    await until(
      async () => {
        const [ours, counted] = await rates();
        return counted > 20 && Math.abs(ours - counted) < counted / 4;
      },
      { within: 30000, what: 'equal rates' }
    );
  }, 120000);

  test('fires no alert for a gateway that works, and one when its cloud is gone', async () => {
    // Whether the clock of this machine is kept right is not the gateway's doing.
    const alerts = async () => {
      const { groups } = await ask('rules');
      const rules = groups.flatMap((/** @type {any} */ group) => group.rules);
      expect(rules.filter((/** @type {any} */ { health }) => health === 'err')).toEqual([]);
      return rules
        .flatMap((/** @type {any} */ { name, alerts: all }) =>
          all.some((/** @type {any} */ { labels }) => labels.instance !== other.target) ? [name] : []
        )
        .filter((/** @type {string} */ name) => name !== 'SeganetClockNotSynchronized');
    };
    await until(async () => (await alerts()).length === 0, { what: 'no alerts' });
    await broker.close();
    await until(async () => (await alerts()).includes('SeganetUplinkDown'), { what: 'a pending alert' });
    await broker.listen();
    await until(async () => !(await alerts()).includes('SeganetUplinkDown'), {
      what: 'the end of the alert'
    });
  }, 90000);
});
