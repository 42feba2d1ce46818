'use strict';

// The gateway's environment variables: those of the nodes, whose rows are in nodes/lib/settings, and the launcher's
// own.

const os = require('os');
const path = require('path');
const { initialOf, parserOf } = require('../../nodes/lib/settings/rows');
const { choice } = require('../../nodes/lib/base/options');
const { rows: kafkaRows } = require('../../nodes/lib/kafka/settings/kafka');
const { TABLE } = require('../../nodes/lib/settings/table');
const checks = require('./checks');
const { LANGUAGES } = require('./flow-texts');
const { PRESETS } = require('./presets');
const profiles = require('./profiles');

/** @typedef {import('../../nodes/lib/settings/rows').Row} Row */

/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} help Markdown with inline code only
 * @property {string} [shown] the default for display, Markdown, where it is not the value itself
 * @property {string} values what it may be set to, Markdown; '' where `help` describes it
 * @property {() => string} initial the default
 * @property {checks.Check} check
 * @property {string} [ifEmpty] why an empty value is refused; without it an empty value counts as not set
 */

/** Checks of texts that a node's parser does not check alone. @type {Record<string, checks.Check>} */
const FORMS = {
  host: checks.deviceHost,
  file: checks.file,
  folder: checks.logFolder,
  url: checks.uplinkUrl,
  groups: checks.sessions,
  paths: checks.paths,
  template: checks.topicTemplate,
  rules: checks.rules,
  permissions: checks.permissions,
  bridges: checks.bridges,
  subscribers: checks.subscribers,
  proxies: checks.proxies,
  database: checks.database,
  text: checks.text
};

const EMPTY_URL =
  'is empty: set it to the cloud broker, for example mqtts://broker.example.org:8883, or unset it for the demo';

/**
 * @param {string} node type of the node
 * @param {Variable[]} [tls] the files of the tls-config node that its property `tls` names
 * @returns {Variable[]} of its rows
 */
function variablesOf(node, tls = []) {
  return Object.entries(TABLE[node]).flatMap(([property, row]) => {
    if (property === 'tls') return tls;
    return row.variable ? [variableOf(row)] : [];
  });
}

/** @param {Row} row @returns {string} */
function firstOf(row) {
  const first = initialOf(row);
  return typeof first === 'boolean' ? (first ? 'yes' : 'no') : String(first);
}

/** @param {Row} row @returns {Variable} */
function variableOf(row) {
  const { variable: name = '', help = '', shown } = row;
  const initial = firstOf(row);
  return {
    name,
    help,
    ...(shown && { shown }),
    values: valuesOf(row),
    initial: () => initial,
    check: checkOf(row),
    ...(row.form === 'url' && { ifEmpty: EMPTY_URL })
  };
}

/** @param {Row} row @returns {checks.Check} */
function checkOf(row) {
  return row.form ? FORMS[row.form] : checks.property(parserOf(row));
}

/** @param {Row} row @returns {string} */
function valuesOf(row) {
  const unit = row.unit ? ` ${row.unit}` : '';
  if (row.type === 'integer') return `${row.min} to ${row.max}${unit}`;
  if (row.type === 'choice') return row.values.map((value) => `\`${value}\``).join(', ');
  return row.type === 'flag' ? '`yes`, `no`' : '';
}

/**
 * @param {string} name
 * @param {checks.Check} check
 * @param {string} help
 * @param {Partial<Variable>} [more]
 * @returns {Variable}
 */
const own = (name, check, help, more) => ({ name, check, help, values: '', initial: () => '', ...more });

/** @param {string} value */
const always = (value) => ({ initial: () => value });

const DEVICE_TLS = [
  own('SEGANET_DEVICE_TLS_CERT', checks.file, 'PEM file of the certificate for devices (tls, wss).'),
  own('SEGANET_DEVICE_TLS_KEY', checks.file, 'PEM file of the key for `SEGANET_DEVICE_TLS_CERT`.'),
  own('SEGANET_DEVICE_TLS_CA', checks.file, "PEM file of the CA that signed the devices' certificates.")
];

const UPLINK_TLS = [
  own('SEGANET_UPLINK_CA', checks.file, "PEM file of the CA that signed the broker's certificate.", {
    shown: 'well-known CAs'
  }),
  own(
    'SEGANET_UPLINK_CERT',
    checks.file,
    "PEM file of the gateway's own certificate, for brokers that require one."
  ),
  own('SEGANET_UPLINK_KEY', checks.file, 'PEM file of the key for `SEGANET_UPLINK_CERT`.')
];

/** @type {Variable[]} */
const VARIABLES = [
  own('SEGANET_HOME', checks.folder, 'Folder for the flow, its secrets, the log and the demo.', {
    shown: '~/.seganet',
    initial: () => path.join(os.homedir(), '.seganet')
  }),
  own(
    'SEGANET_GATEWAY_ID',
    checks.gatewayId,
    'Name of this gateway in the cloud: topic level and MQTT client id.',
    { shown: 'host name', initial: os.hostname }
  ),
  own(
    'SEGANET_PROFILE',
    checks.property(choice(profiles.NAMES, 'standard')),
    'Defaults for a kind of machine: `small` is for boards with 512 MB, and has no editor.',
    { ...always('standard'), values: profiles.NAMES.map((name) => `\`${name}\``).join(', ') }
  ),
  own(
    'SEGANET_PRESET',
    checks.property(choice(Object.keys(PRESETS), 'single')),
    'The default flow: `cluster` is for one of several gateways over Apache Kafka.',
    {
      ...always('single'),
      values: Object.keys(PRESETS)
        .map((name) => `\`${name}\``)
        .join(', ')
    }
  ),
  own(
    'SEGANET_LANGUAGE',
    checks.property(choice(LANGUAGES, 'en')),
    'Language of the default flow, as long as you have not changed it. The editor and the pages follow the browser.',
    { ...always('en'), values: LANGUAGES.map((name) => `\`${name}\``).join(', ') }
  ),
  ...variablesOf('seganet-mqtt-devices', DEVICE_TLS),
  ...variablesOf('seganet-priority'),
  ...variablesOf('seganet-batch'),
  ...variablesOf('seganet-uplink-broker', UPLINK_TLS),
  ...variablesOf('seganet-uplink'),
  ...variablesOf('seganet-engine'),
  ...Object.values(kafkaRows).flatMap((row) => ('variable' in row ? [variableOf(row)] : [])),
  own('SEGANET_KAFKA_CA', checks.file, "cluster: PEM file of the CA that signed the brokers' certificates.", {
    shown: 'well-known CAs'
  }),
  own('SEGANET_EDITOR_PORT', checks.portOrOff, 'Port of the Node-RED editor, or `off`.', always('1880')),
  own(
    'SEGANET_EDITOR_HOST',
    checks.host,
    'Address of the editor; any address other than loopback requires a password.',
    always('127.0.0.1')
  ),
  own(
    'SEGANET_STATUS_PORT',
    checks.portOrOff,
    'Port of the status page alone, without the editor, or `off`.',
    always('off')
  ),
  own(
    'SEGANET_STATUS_HOST',
    checks.host,
    'Address of that port; any address other than loopback requires a password.',
    always('127.0.0.1')
  ),
  own('SEGANET_ADMIN_USER', checks.text, 'User name for the editor.'),
  own(
    'SEGANET_ADMIN_PASSWORD_HASH',
    checks.text,
    "bcrypt hash of the editor's password (`npx node-red admin hash-pw`)."
  ),
  own(
    'SEGANET_METRICS_TOKEN',
    checks.token,
    'For Prometheus, where the editor has a password: a token (`Authorization: Bearer TOKEN`) that reads what the status page shows.'
  ),
  own('SEGANET_TENANTS', checks.text, 'Tenants file of a tenants node.', {
    shown: 'in `SEGANET_HOME`'
  }),
  own('SEGANET_TENANTS_SOCKET', checks.text, 'Socket of the keeper of the tenants.', {
    shown: 'in `SEGANET_HOME`'
  }),
  own('SEGANET_OVERLAY', checks.text, 'Program `seganet-overlay` that an overlay network node starts.', {
    shown: 'installed'
  }),
  own(
    'SEGANET_OVERLAY_ADMIN',
    checks.text,
    "Administration socket of an overlay's services on this machine, for the status page.",
    { shown: 'none' }
  ),
  own(
    'SEGANET_LOG_FORMAT',
    checks.property(choice(['text', 'json'], 'text')),
    'Form of the messages on standard output and standard error.',
    { ...always('text'), values: '`text`, `json`' }
  )
];

module.exports = { VARIABLES };
