'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');
const selfsigned = require('selfsigned');
const { hashPassword } = require('../../nodes/lib/login/password-hash');
const shippedFlow = require('../../flows/gateway.json');
const { VARIABLES } = require('../../flows/launcher/variables');
const { initialOf } = require('../../nodes/lib/settings/rows');
const { TABLE } = require('../../nodes/lib/settings/table');
const { withTable } = require('../../flows/launcher/document');
const { readEnvironment, applyEnvironment, helpTable } = require('../../flows/launcher/environment');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);

const HASH = '$2b$08$wuAqPiKJlVN27eF5qJp.RuQYuy6ZYONW7a/UWYxDTtwKFCdB8F19y';

/** @param {Record<string, string>} env @returns {string} the message shown to the user, '' without a problem */
function problems(env) {
  try {
    readEnvironment(env);
    return '';
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

describe('the table', () => {
  test('gives every variable a value that its own check accepts', () => {
    const values = readEnvironment({});
    for (const { name, check } of VARIABLES) {
      if (values[name]) expect(check(values[name])).toBe(values[name]);
      expect(helpTable()).toContain(name);
    }
    expect(values).toMatchObject({
      SEGANET_DEVICE_HOST: '127.0.0.1',
      SEGANET_MQTT_PORT: '1883',
      SEGANET_RULES: ''
    });
  });

  test('covers every variable of the default flow, and the flow has no number of its own where a variable exists', () => {
    const flow = fs.readFileSync(path.join(ROOT, 'flows', 'gateway.json'), 'utf8');
    const used = [...flow.matchAll(/\$\{(SEGANET_[A-Z_]+)\}/g)].map(([, name]) => name);
    const names = VARIABLES.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(used));
    const elsewhere =
      /HOME|PROFILE|PRESET|KAFKA|CLUSTER|LANGUAGE|USERNAME|PASSWORD|SECRET|EDITOR|STATUS|METRICS|ADMIN|LOG_F|TENANTS|OVERLAY/;
    expect(used).toEqual(expect.arrayContaining(names.filter((name) => !elsewhere.test(name))));
  });

  test('covers every variable of the flow of a cluster', () => {
    const flow = fs.readFileSync(path.join(ROOT, 'flows', 'cluster.json'), 'utf8');
    const used = [...flow.matchAll(/\$\{(SEGANET_[A-Z_]+)\}/g)].map(([, name]) => name);
    const names = VARIABLES.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(used));
    expect(used).toEqual(expect.arrayContaining(names.filter((name) => /KAFKA|CLUSTER/.test(name))));
  });

  test('has the defaults of properties without a variable in the default flow', () => {
    // Config nodes and the gateway's name are the flow's own.
    const own = /^(seganet-\w+-\d|\$\{SEGANET_GATEWAY_ID\})$/;
    const differing = Object.entries(TABLE).flatMap(([type, rows]) => {
      const node = shippedFlow.find((each) => each.type === type);
      return Object.entries(rows)
        .filter(([name, row]) => !row.variable && node[name] !== undefined && !own.test(node[name]))
        .filter(([name, row]) => String(node[name]) !== String(initialOf(row)))
        .map(([name]) => `${type} ${name}`);
    });
    expect(differing).toEqual([]);
  });

  test('is in docs/reference/configuration.md as document.js writes it', () => {
    const page = fs.readFileSync(path.join(ROOT, 'docs', 'reference', 'configuration.md'), 'utf8');
    expect(page).toBe(withTable(page));
    for (const { name } of VARIABLES) expect(page).toContain(`| \`${name}\``);
  });

  test('knows names of the launcher, the loader and the tests, and uses the demo for an unset URL alone', () => {
    expect(problems({ SEGANET_CACHE: '/x', SEGANET_NATIVE: '/y', SEGANET_TEST_ANY: '1' })).toBe('');
    /** @type {NodeJS.ProcessEnv} */
    const env = {};
    applyEnvironment(env);
    expect('SEGANET_UPLINK_URL' in env).toBe(false);
    expect(() => applyEnvironment(env)).not.toThrow();
  });

  test('treats an empty variable as unset', () => {
    expect(readEnvironment({ SEGANET_MQTT_PORT: '' }).SEGANET_MQTT_PORT).toBe('1883');
  });

  test('writes the defaults into the environment for the flow', () => {
    /** @type {NodeJS.ProcessEnv} */
    const env = { SEGANET_LOG_MIB: '0250' };
    applyEnvironment(env);
    expect(env).toMatchObject({
      SEGANET_LOG_MIB: '250',
      SEGANET_UPLINK_CA: '',
      SEGANET_EDITOR_PORT: '1880'
    });
  });
});

describe('refuses an unusable value with a sentence that names the variable', () => {
  test.each([
    ['SEGANET_MQTT_PORT', '65536', /whole number from 0 to 65535, not "65536"/],
    ['SEGANET_MQTT_PORT', '-1', /whole number/],
    ['SEGANET_MQTT_PORT', '1e3', /whole number/],
    ['SEGANET_WORKERS', '5 s', /whole number from 0 to 64, not "5 s"/],
    ['SEGANET_BATCH_MODE', 'zip', /must be one of envelope, records, off, not "zip"/],
    [
      'SEGANET_BATCH_FORMAT',
      'xml',
      /must be one of ndjson, json, cbor, senml-json, senml-cbor, sparkplug, not "xml"/
    ],
    ['SEGANET_EDITOR_PORT', 'on', /whole number/],
    ['SEGANET_DEVICE_HOST', 'a b', /IP address or a host name/],
    ['SEGANET_GATEWAY_ID', 'a/b', /no space, "\/"/],
    ['SEGANET_UPLINK_URL', 'broker', /must be a URL such as mqtts:/],
    ['SEGANET_UPLINK_URL', 'https://broker', /must start with mqtts:\/\//],
    ['SEGANET_UPLINK_URL', 'mqtt://broker.example.org', /unencrypted to broker.example.org; write mqtts/],
    ['SEGANET_UPLINK_URL', 'mqtts://h:0', /has port 0/],
    ['SEGANET_UPLINK_URL', 'mqtts://h:8883/path', /must end after the port/],
    ['SEGANET_UPLINK_URL', 'mqtts://a,mqtts://a:8883', /lists a:8883 twice/],
    ['SEGANET_UPLINK_URL', 'mqtts://a,mqtt://b', /unencrypted to b; write mqtts/],
    ['SEGANET_UPLINK_URL', 'mqtts://a,', /whose number 2 is missing/],
    ['SEGANET_UPLINK_RETURN_S', '-1', /whole number from 0 to 86400/],
    ['SEGANET_UPLINK_CA', '/nowhere/ca.pem', /names \/nowhere\/ca.pem, which does not exist/],
    ['SEGANET_UPLINK_CA', '/', /which is not a file/],
    ['SEGANET_ACKNOWLEDGE', 'maybe', /must be one of safe, stored, received/],
    ['SEGANET_LOG_MIB', '0', /from 1 to 1048576/],
    ['SEGANET_SESSIONS', '1,2/2', /cannot be used: Sessions '1,2\/2' names class 2 twice/],
    ['SEGANET_UPLINK_PATHS', 'eth0:spare', /'active' or 'backup', and may be 'metered', not "spare"/],
    ['SEGANET_COMMANDS', 'yes', /must be one of off, on/],
    ['SEGANET_HISTORY', 'yes', /must be one of property, suffix, none/],
    ['SEGANET_RULES', '[', /cannot be used: The rules are not valid JSON/],
    ['SEGANET_RULES', '{}', /The rules must be a JSON array/],
    ['SEGANET_RULES', '[null]', /Rule 1 must be an object/],
    [
      'SEGANET_RULES',
      '[{"topic":"a","class":1},{"topic":"a","class":9}]',
      /Rule 2: The priority "9" is not a class/
    ],
    ['SEGANET_RULES', '[{"topik":"a","class":1}]', /Rule 1 has the unknown key "topik"/],
    ['SEGANET_RULES', '[{"topic":7,"class":1}]', /"topic" must be text/],
    ['SEGANET_RULES', '[{"topic":"a/#/b","class":1}]', /may have # only as its last level/],
    ['SEGANET_UPLINK_TOPIC', 'a/{foo}', /unknown placeholder \{foo\}/],
    ['SEGANET_UPLINK_TOPIC', 'a/#', /The topic 'a\/#'/],
    ['SEGANET_HOME', '~/gateway', /begins with ~, which only a shell expands/],
    ['SEGANET_UPLINK_CA', '~/ca.pem', /begins with ~/],
    ['SEGANET_UPLINK_URL', '', /is empty: set it to the cloud broker, .* or unset it for the demo/],
    ['SEGANET_UPLINK_URL', ' ', /is empty/],
    ['SEGANET_GATEWAY_ID', '${SITE}', /reference to another variable that was not expanded/],
    ['SEGANET_DEVICE_HOST', 'fe80::1%eth0', /local address such as 127.0.0.1/],
    ['SEGANET_MQTT_PROT', '1883', /is not a variable of the gateway. Did you mean SEGANET_MQTT_PORT\?/],
    ['SEGANET_SOMETHING_ELSE', 'x', /is not a variable of the gateway\. Correct its name or unset it/]
  ])('%s=%s', (name, value, sentence) => {
    const message = problems({ [name]: value });
    expect(message.startsWith(`${name} `)).toBe(true);
    expect(message).toMatch(sentence);
    expect(message.split('\n')).toHaveLength(1);
  });

  test('refuses a password in the URL without repeating it', () => {
    const message = problems({ SEGANET_UPLINK_URL: 'mqtts://me:secret@broker' });
    expect(message).toMatch(/Set SEGANET_UPLINK_USERNAME and SEGANET_UPLINK_PASSWORD/);
    expect(message).not.toContain('secret');
  });

  test('reports all wrong values at once', () => {
    expect(problems({ SEGANET_WORKERS: 'x', SEGANET_LOG_MIB: '0' }).split('\n')).toHaveLength(2);
  });

  test('ends npm start with code 78 and the sentence', async () => {
    const env = cleanEnvironment({ SEGANET_MQTT_PORT: 'abc', SEGANET_HOME: temporaryFolder() });
    const { code, output } = await run(process.execPath, ['flows/launcher/start.js'], { env }).ended;
    expect(code).toBe(78);
    expect(output).toBe('SEGANET_MQTT_PORT must be a whole number from 0 to 65535, not "abc".\n');
  });

  test('prints the table with npm start -- --help', async () => {
    const { code, output } = await run(process.execPath, ['flows/launcher/start.js', '--help']).ended;
    expect(code).toBe(0);
    expect(output).toContain(helpTable());
  });
});

describe('a cluster', () => {
  const cluster = {
    SEGANET_PRESET: 'cluster',
    SEGANET_KAFKA_BROKERS: 'kafka-1:9092,kafka-2:9092',
    SEGANET_UPLINK_URL: 'mqtts://broker.example.org'
  };

  test('acknowledges what two brokers have, and is replaced by nothing', () => {
    expect(readEnvironment(cluster)).toMatchObject({ SEGANET_ACKNOWLEDGE: 'replicated' });
    expect(readEnvironment({}).SEGANET_ACKNOWLEDGE).toBe('safe');
  });

  test.each([
    [{ ...cluster, SEGANET_KAFKA_BROKERS: '' }, /needs the brokers .* Set SEGANET_KAFKA_BROKERS/],
    [{ ...cluster, SEGANET_UPLINK_URL: undefined }, /has no demo cloud. Set SEGANET_UPLINK_URL/],
    [{ ...cluster, SEGANET_ACKNOWLEDGE: 'safe' }, /that only this machine has.* Set replicated, or unset it/],
    [{ ...cluster, SEGANET_BATCH_MODE: 'records' }, /without their time and number.* set envelope/],
    [{ ...cluster, SEGANET_BATCH_FORMAT: 'sparkplug', SEGANET_SPARKPLUG_GROUP: 'g' }, /Set another one/],
    [{ ...cluster, SEGANET_KAFKA_SASL: 'plain' }, /belong together/],
    [{ ...cluster, SEGANET_KAFKA_USERNAME: 'me' }, /belong together/],
    [{ SEGANET_KAFKA_BROKERS: 'a' }, /has no effect with SEGANET_PRESET single/],
    [{ SEGANET_PRESET: 'pair' }, /must be one of single, cluster, not "pair"/]
  ])('refuses %j', (env, sentence) => {
    const message = problems(/** @type {any} */ (env));
    expect(message).toMatch(sentence);
    expect(message.split('\n')).toHaveLength(1);
  });
});

describe('devices', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));
  const file = path.join(folder, 'nothing');
  const [cert, key, psk, passwords] = ['cert', 'key', 'psk', 'passwords'].map((name) =>
    path.join(folder, name)
  );
  beforeAll(async () => {
    const pair = await selfsigned.generate(null, { keyType: 'ec', algorithm: 'sha256' });
    const other = await selfsigned.generate(null, { keyType: 'ec', algorithm: 'sha256' });
    fs.writeFileSync(file, 'nothing');
    fs.writeFileSync(cert, pair.cert);
    fs.writeFileSync(key, pair.private);
    fs.writeFileSync(path.join(folder, 'other'), other.private);
    fs.writeFileSync(psk, 'dev:00112233445566778899aabbccddeeff');
    fs.writeFileSync(passwords, `dev:${await hashPassword(Buffer.from('secret'))}`);
  });
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  const login = { SEGANET_DEVICE_LOGIN: 'passwords', SEGANET_DEVICE_PASSWORD_FILE: passwords };
  const tls = {
    SEGANET_DEVICE_TRANSPORT: 'tls',
    SEGANET_DEVICE_TLS_CERT: cert,
    SEGANET_DEVICE_TLS_KEY: key
  };

  test.each([
    [{ SEGANET_DEVICE_HOST: '::' }, /would let any host/],
    [{ SEGANET_DEVICE_HOST: '0.0.0.0', SEGANET_DEVICE_CLIENT_CERT: 'wanted', ...tls }, /would let any host/],
    [{ SEGANET_DEVICE_LOGIN: 'passwords' }, /requires SEGANET_DEVICE_PASSWORD_FILE/],
    [{ SEGANET_DEVICE_LOGIN: 'psk', SEGANET_DEVICE_TRANSPORT: 'tls' }, /requires SEGANET_DEVICE_PSK_FILE/],
    [
      {
        ...tls,
        SEGANET_DEVICE_TLS_CA: file,
        SEGANET_DEVICE_LOGIN: 'psk',
        SEGANET_DEVICE_PSK_FILE: file,
        SEGANET_DEVICE_CLIENT_CERT: 'required'
      },
      /psk cannot be combined with SEGANET_DEVICE_CLIENT_CERT required/
    ],
    [{ SEGANET_DEVICE_TRANSPORT: 'wss' }, /requires SEGANET_DEVICE_TLS_CERT/],
    [{ ...tls, SEGANET_DEVICE_TLS_KEY: '' }, /belong together/],
    [{ ...tls, SEGANET_DEVICE_LOGIN: 'certificate' }, /SEGANET_DEVICE_TLS_CA/],
    [{ SEGANET_DEVICE_CLIENT_CERT: 'required' }, /require TLS/],
    [
      { ...tls, SEGANET_DEVICE_TLS_KEY: path.join(folder, 'other') },
      /^SEGANET_DEVICE_TLS_CERT, SEGANET_DEVICE_TLS_KEY cannot be used: .*The key does not belong to the certificate/
    ],
    [{ ...tls, SEGANET_DEVICE_TLS_CERT: file }, /SEGANET_DEVICE_TLS_KEY cannot be used: .* Use PEM files/],
    [
      { SEGANET_DEVICE_LOGIN: 'psk', SEGANET_DEVICE_TRANSPORT: 'tls', SEGANET_DEVICE_PSK_FILE: file },
      /^SEGANET_DEVICE_PSK_FILE cannot be used: Line 1/
    ],
    [
      { SEGANET_DEVICE_LOGIN: 'passwords', SEGANET_DEVICE_PASSWORD_FILE: file },
      /^SEGANET_DEVICE_PASSWORD_FILE names .* which contains no user, so no device could log in/
    ],
    [{ SEGANET_DEVICE_ALLOW_ANONYMOUS: 'perhaps' }, /must be yes or no/],
    [{ SEGANET_DEVICE_PERMISSIONS: '[{"device":"a","publish":["a#"]}]' }, /topic filter "a#"/],
    [{ SEGANET_BRIDGES: 'zigbee2mqtt=zigbee2mqtt/+' }, /^SEGANET_BRIDGES cannot be used: .* one whole level/],
    [{ SEGANET_SUBSCRIBERS: 'dashboard=a#' }, /"dashboard=a#": the topic filter may have # only/]
  ])('refuses %j', (env, reason) => {
    expect(problems(env)).toMatch(reason);
  });

  test.each([
    [{ SEGANET_DEVICE_HOST: '::', ...login }],
    [{ SEGANET_DEVICE_HOST: '::', SEGANET_DEVICE_ALLOW_ANONYMOUS: 'yes' }],
    [
      {
        SEGANET_DEVICE_HOST: '0.0.0.0',
        ...tls,
        SEGANET_DEVICE_LOGIN: 'certificate',
        SEGANET_DEVICE_TLS_CA: cert
      }
    ],
    [{ SEGANET_DEVICE_LOGIN: 'psk', SEGANET_DEVICE_TRANSPORT: 'tls', SEGANET_DEVICE_PSK_FILE: psk }]
  ])('accepts %j', (env) => {
    expect(problems(env)).toBe('');
  });
});

describe('accepted values', () => {
  test.each([
    ['SEGANET_UPLINK_URL', 'mqtts://127.0.0.2:8883', 'mqtts://127.0.0.2:8883'],
    ['SEGANET_UPLINK_URL', 'mqtts://broker.example.org', 'mqtts://broker.example.org:8883'],
    ['SEGANET_UPLINK_URL', 'mqtt://[::1]', 'mqtt://[::1]:1883'],
    ['SEGANET_UPLINK_URL', 'mqtts://a , mqtts://b:8884', 'mqtts://a:8883,mqtts://b:8884'],
    ['SEGANET_EDITOR_PORT', 'off', 'off'],
    ['SEGANET_DEVICE_HOST', '::1', '::1'],
    ['SEGANET_SESSIONS', 'all', 'all'],
    ['SEGANET_SESSIONS', '1/2/3,4', '1/2/3,4'],
    ['SEGANET_DEVICE_ALLOW_ANONYMOUS', 'true', 'yes'],
    ['SEGANET_LOG_DIR', '/var/lib/../log', '/var/log'],
    ['SEGANET_RULES', ' [ {"device":"pump-*", "class":"High"} ] ', '[ {"device":"pump-*", "class":"High"} ]']
  ])('%s=%s', (name, value, expected) => {
    expect(readEnvironment({ [name]: value })[name]).toBe(expected);
  });
});

describe('the editor', () => {
  test.each(['0.0.0.0', '::', '192.168.1.5', 'gateway.local'])(
    'is refused on %s without a password',
    (host) => {
      expect(problems({ SEGANET_EDITOR_HOST: host })).toMatch(/without a password.*Set SEGANET_ADMIN_USER/s);
      expect(problems({ SEGANET_EDITOR_HOST: host, SEGANET_EDITOR_PORT: 'off' })).toBe('');
      const password = { SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH };
      expect(problems({ SEGANET_EDITOR_HOST: host, ...password })).toBe('');
    }
  );

  test('applies to the port of the status page, too, which needs the HTTP server of the editor', () => {
    const open = { SEGANET_STATUS_PORT: '8080', SEGANET_STATUS_HOST: '0.0.0.0' };
    expect(problems(open)).toMatch(/SEGANET_STATUS_HOST 0.0.0.0 .* without a password/);
    expect(problems({ ...open, SEGANET_STATUS_PORT: 'off' })).toBe('');
    expect(problems({ SEGANET_STATUS_PORT: '8080' })).toBe('');
    expect(problems({ ...open, SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH })).toBe('');
    expect(problems({ SEGANET_STATUS_PORT: '8080', SEGANET_EDITOR_PORT: 'off' })).toMatch(
      /SEGANET_STATUS_PORT needs .* SEGANET_EDITOR_PORT is off/
    );
  });

  test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('needs no password on %s', (host) => {
    expect(problems({ SEGANET_EDITOR_HOST: host })).toBe('');
  });

  test('has a token for metrics that nobody guesses, and only beside a password', () => {
    const login = { SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH };
    const token = 'f00d'.repeat(8);
    expect(problems({ ...login, SEGANET_METRICS_TOKEN: token })).toBe('');
    expect(problems({ SEGANET_METRICS_TOKEN: token })).toMatch(/would protect nothing/);
    for (const wrong of ['short', `${token} x`, `${token}\u00e9`, token.repeat(9)]) {
      const message = problems({ ...login, SEGANET_METRICS_TOKEN: wrong });
      expect(message).toMatch(/SEGANET_METRICS_TOKEN must be 32 to 256/);
      expect(message).not.toContain(wrong);
    }
  });

  test('refuses half a login and a password that is not a hash', () => {
    expect(problems({ SEGANET_ADMIN_USER: 'admin' })).toMatch(/belong together/);
    const message = problems({ SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: 'hunter2' });
    expect(message).toMatch(/is not a bcrypt hash/);
    expect(message).not.toContain('hunter2');
  });
});

describe('certificate files', () => {
  /** @param {Record<string, string>} files @returns {Record<string, string>} */
  function write(files) {
    const folder = temporaryFolder();
    return Object.fromEntries(
      Object.entries(files).map(([name, content]) => {
        const file = path.join(folder, `${name}.pem`);
        fs.writeFileSync(file, content);
        return [`SEGANET_UPLINK_${name}`, file];
      })
    );
  }

  test('are accepted as a certificate and its key, but not alone or with another key', async () => {
    const options = /** @type {const} */ ({ keyType: 'ec', algorithm: 'sha256' });
    const [own, other] = await Promise.all([
      selfsigned.generate(null, options),
      selfsigned.generate(null, options)
    ]);
    expect(problems(write({ CA: other.cert, CERT: own.cert, KEY: own.private }))).toBe('');
    expect(problems(write({ CERT: own.cert }))).toMatch(/_CERT and SEGANET_UPLINK_KEY belong together/);
    expect(problems(write({ CERT: own.cert, KEY: other.private }))).toMatch(
      /is not the key of the certificate/
    );
    expect(problems(write({ CERT: own.cert, KEY: 'nothing' }))).toMatch(/not an unencrypted PEM key/);
    expect(problems(write({ CA: own.private }))).toMatch(/contains no PEM certificate/);
  });
});
