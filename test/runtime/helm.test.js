'use strict';
// The Helm chart, rendered by Helm: each object satisfies the schema of Kubernetes, and means what the gateway, its
// image and the files beside the chart mean.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const Ajv = require('ajv');
const yaml = require('js-yaml');
const { needs } = require('../../bench/harness/tools');
const { readEnvironment, VARIABLES } = require('../../flows/launcher/environment');
const { readiness } = require('../../nodes/lib/health');
const cluster = require('../../flows/cluster.json');
const manifest = require('../../package.json');
const { ROOT, temporaryFolder, cleanUp } = require('./process');

const TOOLS = process.env.SEGANET_HELM || '/Helm (SEGANET_HELM=$(.ci/helm))';
const { describe } = needs(path.join(TOOLS, 'complete'));
const { test: withHaproxy } = needs('haproxy');

const CHART = path.join(ROOT, 'docker/cluster/helm');
const EXAMPLES = fs.readdirSync(path.join(CHART, 'examples'));
/** Of operators: their schemas are not those of Kubernetes. */
const OPERATORS = ['ServiceMonitor', 'PrometheusRule', 'KafkaTopic'];
const LOGIN = {
  SEGANET_ADMIN_USER: 'admin',
  SEGANET_ADMIN_PASSWORD_HASH: '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C',
  SEGANET_METRICS_TOKEN: 'f00d'.repeat(16)
};

jest.setTimeout(60000);
afterEach(cleanUp);

/** @param {string[]} args */
function helm(...args) {
  const { status, stdout, stderr } = spawnSync(path.join(TOOLS, 'helm'), args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** What was rendered before. @type {Map<string, any[]>} */
const rendered = new Map();

/** @param {string} example @param {string[]} more @returns {any[]} the objects, which are not to be changed */
function render(example, ...more) {
  const key = [example, ...more].join(' ');
  const known = rendered.get(key);
  if (known) return known;
  const values = ['-f', path.join(CHART, 'examples', example), '--kube-version', '1.35.0', '-n', 'iot'];
  const { status, stdout, stderr } = helm('template', 'plant', CHART, ...values, ...more);
  expect([status, status ? stderr : '']).toEqual([0, '']);
  const objects = yaml.safeLoadAll(stdout).filter(Boolean);
  rendered.set(key, objects);
  return objects;
}

/** @param {any[]} objects @param {string} kind @param {string} [name] @returns {any} */
function find(objects, kind, name) {
  const found = objects.find((each) => each.kind === kind && (!name || each.metadata.name === name));
  if (!found) throw new Error(`There is no ${kind} ${name ?? ''}.`);
  return found;
}

/** @param {any[]} objects */
const podOf = (objects) => find(objects, 'StatefulSet').spec.template.spec;

/** @param {any[]} objects @returns {Record<string, string>} variables of the gateway; those of Secrets are '' */
function environmentOf(objects) {
  const list = podOf(objects).containers[0].env;
  const env = Object.fromEntries(list.map((/** @type {any} */ { name, value = '' }) => [name, value]));
  expect(Object.keys(env)).toHaveLength(list.length);
  return env;
}

/** Checks objects against the schemas of Kubernetes. */
class Schemas {
  #ajv = new Ajv({ unknownFormats: 'ignore', validateSchema: false, logger: false });

  constructor() {
    this.#ajv.addSchema(this.#read('_definitions'), '_definitions.json');
  }

  /** @param {string} name */
  #read(name) {
    return JSON.parse(fs.readFileSync(path.join(TOOLS, 'schemas', `${name}.json`), 'utf8'));
  }

  /** @param {any} object @returns {string} '' = valid */
  problem(object) {
    const [group, version] = object.apiVersion.split('/');
    const kind = object.kind.toLowerCase();
    const name = version ? `${kind}-${group.split('.')[0]}-${version}` : `${kind}-${group}`;
    const validate = this.#ajv.getSchema(name) ?? this.#ajv.addSchema(this.#read(name), name).getSchema(name);
    return validate?.(object) ? '' : `${object.kind} ${this.#ajv.errorsText(validate?.errors)}`;
  }
}

describe('the chart', () => {
  test('has the version and the image of this package', () => {
    const chart = yaml.safeLoad(fs.readFileSync(path.join(CHART, 'Chart.yaml'), 'utf8'));
    expect([chart.version, chart.appVersion]).toEqual([manifest.version, manifest.version]);
    expect(manifest.name).toMatch(/gateway$/);
    expect(podOf(render('small.yaml')).containers[0].image).toBe(`${chart.name}:${manifest.version}`);
  });

  test.each([...EXAMPLES, ''])('passes the lint of Helm: %s', (example) => {
    const values = example ? ['-f', path.join(CHART, 'examples', example)] : [];
    const { status, stdout, stderr } = helm('lint', '--strict', CHART, ...values);
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  test('consists of objects that Kubernetes accepts', () => {
    const schemas = new Schemas();
    const flow = ['--set-file', `flow=${path.join(ROOT, 'flows/gateway.json')}`];
    const others = {
      image: { pullSecrets: ['registry'] },
      service: { sourceRanges: ['10.0.0.0/8'], annotations: { a: 'b' } },
      storage: { className: 'fast' },
      nodeSelector: { site: 'hall' },
      tolerations: [{ key: 'edge', operator: 'Exists' }],
      env: { NUMBER: 604800000 }
    };
    const file = path.join(temporaryFolder(), 'values.json');
    fs.writeFileSync(file, JSON.stringify(others));
    const full = render('kafka.yaml', '-f', file);
    expect(environmentOf(full).NUMBER).toBe('604800000');
    const objects = [
      ...EXAMPLES.flatMap((example) => [...render(example), ...render(example, ...flow)]),
      ...full
    ];
    const own = objects.filter(({ kind }) => !OPERATORS.includes(kind));
    expect(new Set(own.map(({ kind }) => kind)).size).toBe(5);
    for (const object of own) expect(schemas.problem(object)).toBe('');
    // The check itself finds what is wrong.
    const [set] = own.filter(({ kind }) => kind === 'StatefulSet');
    for (const wrong of [{ replicas: '3' }, { selector: undefined }, { nonsense: 1 }])
      expect(schemas.problem({ ...set, spec: { ...set.spec, ...wrong } })).toMatch(/^StatefulSet data/);
  });

  test.each(EXAMPLES)('sets only variables that the gateway knows: %s', (example) => {
    const known = new Set(VARIABLES.map(({ name }) => name));
    const names = Object.keys(environmentOf(render(example))).filter((name) => name.startsWith('SEGANET_'));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });

  test.each(['small.yaml', 'pair.yaml', 'kafka.yaml'])(
    'has settings with which the gateway starts: %s',
    (example) => {
      const env = { ...environmentOf(render(example)), ...LOGIN };
      const file = path.join(temporaryFolder(), 'ca.crt');
      fs.writeFileSync(file, '');
      if (env.SEGANET_KAFKA_CA) env.SEGANET_KAFKA_CA = file;
      expect(readEnvironment(env)).toMatchObject({
        SEGANET_STATUS_HOST: '0.0.0.0',
        SEGANET_DEVICE_HOST: '0.0.0.0'
      });
    }
  );

  test('lets each Service and budget find the pods and ports that it is for', () => {
    for (const example of EXAMPLES) {
      const objects = render(example);
      const pods = objects
        .filter(({ kind }) => ['StatefulSet', 'Deployment'].includes(kind))
        .map(({ spec }) => spec.template);
      const ofLabels = (/** @type {object} */ labels) =>
        pods.filter(({ metadata }) =>
          Object.entries(labels).every(([name, value]) => metadata.labels[name] === value)
        );
      for (const { spec } of objects.filter(({ kind }) => kind === 'Service')) {
        const [pod, ...others] = ofLabels(spec.selector);
        expect(others).toEqual([]);
        const open = pod.spec.containers[0].ports.map((/** @type {any} */ { name }) => name);
        for (const { targetPort } of spec.ports) expect(open).toContain(targetPort);
      }
      const budgets = objects.filter(({ kind }) => kind === 'PodDisruptionBudget');
      // The standby of a pair is not ready, so a budget would never let the other one go.
      expect(budgets).toHaveLength(example === 'pair.yaml' ? 0 : pods.length);
      for (const { spec } of budgets) expect(ofLabels(spec.selector.matchLabels)).toHaveLength(1);
      for (const { spec } of pods)
        for (const { labelSelector } of spec.topologySpreadConstraints)
          expect(ofLabels(labelSelector.matchLabels)).toHaveLength(1);
    }
    const all = render('kafka.yaml', '--set', 'ports.coap=5683,ports.http=8080');
    const services = all.filter(({ kind }) => kind === 'Service');
    expect(services.map(({ metadata, spec }) => [metadata.name, spec.ports.map(({ name }) => name)])).toEqual(
      [
        ['plant-mqtt', ['mqtt']],
        ['plant-gateways', ['status', 'mqtt']],
        ['plant', ['coap', 'http']]
      ]
    );
    expect(find(render('small.yaml'), 'Service', 'plant').spec).toMatchObject({
      type: 'NodePort',
      ports: [{ port: 1883, nodePort: 31883, protocol: 'TCP' }]
    });
  });

  test('runs every container without rights, on a file system that it cannot write to', () => {
    const objects = render('kafka.yaml', '--set-file', `flow=${path.join(ROOT, 'flows/gateway.json')}`);
    const pods = [podOf(objects), find(objects, 'Deployment').spec.template.spec];
    for (const { securityContext, containers, initContainers = [], automountServiceAccountToken } of pods) {
      expect(automountServiceAccountToken).toBe(false);
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' }
      });
      for (const container of [...containers, ...initContainers])
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] }
        });
    }
    // The user "node" of the image.
    expect(pods[0].securityContext).toMatchObject({ runAsUser: 1000, fsGroup: 1000 });
    expect(fs.readFileSync(path.join(ROOT, 'docker/Dockerfile'), 'utf8')).toMatch(/^USER node$/m);
  });

  test('asks the pages of health for checks that exist', () => {
    const [{ startupProbe, livenessProbe, readinessProbe, ports }] = podOf(render('small.yaml')).containers;
    const image = fs.readFileSync(path.join(ROOT, 'docker/Dockerfile'), 'utf8');
    const [, check = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(image) ?? [];
    for (const { exec } of [startupProbe, livenessProbe]) expect(exec.command).toEqual(JSON.parse(check));
    expect(ports).toContainEqual({ name: 'status', containerPort: 1881 });
    const [page, query] = readinessProbe.httpGet.path.split('?exclude=');
    expect(readinessProbe.httpGet.port).toBe('status');
    expect([page, readiness([], query.split(',')).ok]).toEqual(['/seganet/readyz', false]);
    const strict = podOf(render('small.yaml', '--set', 'readiness.exclude=null')).containers[0]
      .readinessProbe;
    expect(strict.httpGet.path).toBe('/seganet/readyz');
  });

  test('hands the devices over before a pod ends, and leaves the gateway its time to stop', () => {
    const pod = podOf(render('small.yaml', '--set', 'drain.waitS=7,drain.rate=3'));
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(7 + 27);
    const [node, script, ...args] = pod.containers[0].lifecycle.preStop.exec.command;
    expect([node, args.slice(2)]).toEqual(['node', ['--rate=3', '--wait=7']]);
    expect(args[1]).toBe(`--home=${environmentOf(render('small.yaml')).SEGANET_HOME}`);
    args[1] = `--home=${temporaryFolder()}`;
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
      cwd: ROOT,
      encoding: 'utf8'
    });
    expect([status, stdout + stderr]).toEqual([2, expect.stringMatching(/^No gateway uses/)]);
  });

  test('gives each gateway the flow of the release, and replaces the pods with it', () => {
    const file = path.join(ROOT, 'examples/19 - records to kafka.json');
    const objects = render('kafka.yaml', '--set-file', `flow=${file}`);
    expect(find(objects, 'ConfigMap', 'plant-flow').data['gateway.json']).toBe(fs.readFileSync(file, 'utf8'));
    const [{ command }] = podOf(objects).initContainers;
    const folder = temporaryFolder();
    const script = command[2].replaceAll('/data/', `${folder}/`).replace('/flow/gateway.json', '"$FLOW"');
    const run = () =>
      spawnSync(command[0], [command[1], script], { env: { ...process.env, FLOW: file } }).status;
    expect([run(), run()]).toEqual([0, 0]);
    expect(fs.readFileSync(`${folder}/home/gateway.json`)).toEqual(fs.readFileSync(file));
    expect(fs.statSync(`${folder}/home`).mode & 0o777).toBe(0o700);
    const digest = (/** @type {any[]} */ each) =>
      find(each, 'StatefulSet').spec.template.metadata.annotations;
    const other = render('kafka.yaml', '--set-file', `flow=${path.join(ROOT, 'flows/gateway.json')}`);
    expect(digest(objects)).not.toEqual(digest(other));
    expect(podOf(render('kafka.yaml')).initContainers).toBeUndefined();
  });

  test('scrapes the gateways with their token, and has the alert rules of the documentation', () => {
    const objects = render('kafka.yaml');
    const { metadata, spec } = find(objects, 'ServiceMonitor');
    expect(metadata.labels.release).toBe('prometheus');
    const services = objects.filter(
      ({ kind, metadata: { labels } }) =>
        kind === 'Service' &&
        Object.entries(spec.selector.matchLabels).every(([name, value]) => labels[name] === value)
    );
    expect(services.map((each) => each.metadata.name)).toEqual(['plant-gateways']);
    const [endpoint] = spec.endpoints;
    expect(services[0].spec.ports).toContainEqual(expect.objectContaining({ name: endpoint.port }));
    const token = podOf(objects).containers[0].env.find(({ name }) => name === 'SEGANET_METRICS_TOKEN');
    expect(endpoint).toMatchObject({
      path: '/seganet/metrics',
      authorization: { credentials: token.valueFrom.secretKeyRef }
    });
    const rules = yaml.safeLoad(
      fs.readFileSync(path.join(ROOT, 'docs/prometheus/seganet-alerts.yml'), 'utf8')
    );
    expect(find(objects, 'PrometheusRule').spec).toEqual(rules);
    // The job of the rules.
    expect(JSON.stringify(rules)).toContain('up{job=\\"seganet\\"}');
    expect(endpoint.relabelings).toContainEqual({ targetLabel: 'job', replacement: 'seganet' });
  });

  withHaproxy('balances with docker/cluster/haproxy.cfg, and a line for each gateway', () => {
    const objects = render('kafka.yaml');
    const config = find(objects, 'ConfigMap', 'plant-haproxy').data['haproxy.cfg'];
    const shipped = fs.readFileSync(path.join(ROOT, 'docker/cluster/haproxy.cfg'), 'utf8');
    const [head, servers] = config.split(/(?<=\n)(?= {2}default-server resolvers)/);
    expect(shipped.startsWith(head)).toBe(true);
    expect(shipped.slice(head.length)).toMatch(/^ {2}server a /);
    const gateways = Array.from({ length: 5 }, (_, i) => `plant-${i}`);
    const lines = gateways.map(
      (name) => `  server ${name} ${name}.plant-gateways.iot.svc.cluster.local:1883 port 1881\n`
    );
    expect(servers).toContain(`init-addr last,libc,none\n${lines.join('')}\nresolvers cluster\n`);
    const file = path.join(temporaryFolder(), 'haproxy.cfg');
    // A name of the cluster cannot be found here, and HAProxy starts without it.
    fs.writeFileSync(file, config.replace(/^(.*server plant-[1-4]).*$/gm, '$1 127.0.0.1:1883 port 1881'));
    const [listen] = find(objects, 'Deployment').spec.template.spec.containers[0].env;
    const { status, stderr } = spawnSync('haproxy', ['-c', '-q', '-f', file], {
      env: { ...process.env, [listen.name]: listen.value },
      encoding: 'utf8'
    });
    expect([status, status ? stderr : '']).toEqual([0, '']);
  });

  test('gives a pair one name and one log, and updates it by hand', () => {
    const objects = render('pair.yaml');
    const { SEGANET_GATEWAY_ID: id, SEGANET_LOG_URL: log } = environmentOf(objects);
    expect([id, log]).toEqual(['plant', expect.stringMatching(/^postgres:/)]);
    const { replicas, updateStrategy } = find(objects, 'StatefulSet').spec;
    expect([replicas, updateStrategy]).toEqual([2, { type: 'OnDelete' }]);
    // Its standby serves the devices only when the other one has ended.
    expect(podOf(objects).containers[0].lifecycle).toBeUndefined();
    expect(find(render('small.yaml'), 'StatefulSet').spec.updateStrategy).toBeUndefined();
  });

  test('gives Kafka the topics that the acknowledgement "replicated" needs', () => {
    const topics = render('kafka.yaml').filter(({ kind }) => kind === 'KafkaTopic');
    // Those that the flow of a cluster writes.
    const { topic } = cluster.find(({ type }) => type === 'seganet-kafka-uplink');
    expect(topics.map(({ metadata }) => metadata.name)).toEqual(
      ['critical', 'high', 'normal', 'bulk'].map((name) => topic.replace('{class}', name))
    );
    for (const { metadata, spec } of topics) {
      expect(metadata.labels['strimzi.io/cluster']).toBe('plant');
      expect(spec).toEqual({
        partitions: 24,
        replicas: 3,
        config: { 'min.insync.replicas': 2, 'retention.ms': 604800000 }
      });
    }
  });

  test('gives Kafka compacted topics of one order for what gateways share', () => {
    const shared = ['seganet.commands', 'seganet.devices'];
    const objects = render('kafka.yaml', '--set', `kafka.sharedTopics={${shared}}`);
    const topics = objects.filter(({ spec }) => spec?.config?.['cleanup.policy'] === 'compact');
    expect(topics.map(({ metadata }) => metadata.name)).toEqual(shared);
    const config = { 'cleanup.policy': 'compact', 'min.insync.replicas': 2 };
    for (const { spec } of topics) expect(spec).toEqual({ partitions: 1, replicas: 3, config });
  });

  test.each([
    ['replicas=0', /replicas.*minimum/],
    ['replica=3', /additional properties 'replica' not allowed/],
    ['env.lower=1', /'lower' does not match pattern/],
    ['env.SEGANET_DEVICE_ALLOW_ANONYMOUS=true', /ALLOW_ANONYMOUS.*got boolean, want number or string/],
    ['service.type=Loadbalancer', /must be one of 'LoadBalancer', 'NodePort', 'ClusterIP'/],
    ['readiness.exclude={broker}', /must be one of 'flows'/],
    ['ports.http=80', /ports\/http.*minimum/s],
    ['storage.size=4GiB', /storage\/size.*pattern/],
    ['admin.secret=', /admin\.secret: name a Secret with the keys user, password-hash and metrics-token/],
    ['env.SEGANET_UPLINK_URL=', /env\.SEGANET_UPLINK_URL: name the cloud's broker/],
    ['env.SEGANET_DEVICE_ALLOW_ANONYMOUS=', /env\.SEGANET_DEVICE_LOGIN: choose how devices log in/],
    ['env.SEGANET_UPLINK_PASSWORD=x', /env\.SEGANET_UPLINK_PASSWORD is a secret/],
    ['env.SEGANET_UPLINK_URL=mqtts://a:b@c:8883', /env\.SEGANET_UPLINK_URL is a secret/],
    ['env.SEGANET_HOME=/tmp', /SEGANET_HOME: the chart sets this variable/],
    [
      'secretEnv.SEGANET_RULES.name=a,secretEnv.SEGANET_RULES.key=b,env.SEGANET_RULES=x',
      /is in env and in secretEnv/
    ],
    ['ports.http=1881', /ports\.http: another listener of the gateway has port 1881\/TCP/],
    ['ports.coap=5684,ports.coaps=5684', /ports\.coaps: another listener/],
    ['haproxy.enabled=true', /env\.SEGANET_DEVICE_PROXIES: with haproxy\.enabled/],
    ['flow=x', /flow: a flow of Node-RED is a JSON array/],
    ['pair.gatewayId=plant', /pair\.gatewayId and env\.SEGANET_LOG_URL belong together/],
    ['env.SEGANET_LOG_URL=postgres://a@b/c', /belong together/],
    ['pair.gatewayId=a,env.SEGANET_LOG_URL=postgres://a@b/c', /replicas: a pair has 2 gateways/],
    ['kafka.topics={a}', /kafka\.cluster: name the Kafka object/],
    ['kafka.sharedTopics={a}', /kafka\.cluster: name the Kafka object/],
    [
      'replicas=3,kafka.cluster=a,kafka.topics={a},kafka.partitions=2',
      /kafka\.partitions: a gateway without a partition/
    ],
    ['kafka.caSecret=a', /kafka\.brokers: name the brokers/]
  ])('refuses %s with a sentence', (set, message) => {
    const values = ['-f', path.join(CHART, 'examples/small.yaml'), '--kube-version', '1.35.0', '--set', set];
    const { status, stderr } = helm('template', 'plant', CHART, ...values);
    expect([status, stderr]).toEqual([1, expect.stringMatching(message)]);
  });
});
