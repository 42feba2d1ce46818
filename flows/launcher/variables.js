'use strict';

// The gateway's configuration: the table of its environment variables.

const os = require('os');
const path = require('path');
const { schema: batch } = require('../../nodes/lib/settings/batch');
const { schema: broker } = require('../../nodes/lib/settings/broker');
const { schema: engine } = require('../../nodes/lib/settings/engine');
const { schema: uplink } = require('../../nodes/lib/settings/uplink');
const checks = require('./checks');
const { DEVICE_VARIABLES } = require('./variables-devices');

/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} [shown] how the default is written in the table, where it is not the value itself
 * @property {() => string} initial the default
 * @property {checks.Check} check
 * @property {string} [ifEmpty] why an empty value is refused; without it an empty value counts as not set
 * @property {string} help
 */

/** @param {string} value */
const always = (value) => () => value;
const home = () => path.join(os.homedir(), '.seganet');

/** @type {Variable[]} */
const VARIABLES = [
  {
    name: 'SEGANET_HOME',
    shown: '~/.seganet',
    initial: home,
    check: checks.folder,
    help: 'Folder for the flow, its secrets, the log and the demo.'
  },
  {
    name: 'SEGANET_GATEWAY_ID',
    shown: 'host name',
    initial: os.hostname,
    check: checks.gatewayId,
    help: 'Name of this gateway in the cloud: topic level and MQTT client id.'
  },
  ...DEVICE_VARIABLES,
  {
    name: 'SEGANET_UPLINK_URL',
    shown: 'demo cloud',
    initial: always(''),
    check: checks.uplinkUrl,
    ifEmpty:
      'is empty: set it to the cloud broker, for example mqtts://broker.example.org:8883, or unset it for the demo',
    help: 'Cloud broker, mqtts://HOST:PORT. Unset: a demo cloud and a simulated fleet.'
  },
  {
    name: 'SEGANET_UPLINK_CA',
    shown: 'well-known CAs',
    initial: always(''),
    check: checks.file,
    help: "PEM file of the CA that signed the broker's certificate."
  },
  {
    name: 'SEGANET_UPLINK_CERT',
    initial: always(''),
    check: checks.file,
    help: "PEM file of the gateway's own certificate, for brokers that require one."
  },
  {
    name: 'SEGANET_UPLINK_KEY',
    initial: always(''),
    check: checks.file,
    help: 'PEM file of the key for SEGANET_UPLINK_CERT.'
  },
  {
    name: 'SEGANET_UPLINK_USERNAME',
    initial: always(''),
    check: checks.text,
    help: 'User name for the broker.'
  },
  {
    name: 'SEGANET_UPLINK_PASSWORD',
    initial: always(''),
    check: checks.text,
    help: 'Password for the broker.'
  },
  {
    name: 'SEGANET_UPLINK_PROTOCOL',
    initial: always('5'),
    check: checks.property(broker.protocolVersion),
    help: 'MQTT version: 5, or 4 for MQTT 3.1.1.'
  },
  {
    name: 'SEGANET_UPLINK_PATHS',
    shown: 'none',
    initial: always(''),
    check: checks.paths,
    help: 'Interfaces to reach the cloud over, such as eth0,wwan0:backup; or auto.'
  },
  {
    name: 'SEGANET_UPLINK_CONGESTION',
    shown: 'system default',
    initial: always(''),
    check: checks.congestion,
    help: 'TCP congestion control towards the cloud: cubic aggregates paths best, bbr tolerates loss.'
  },
  {
    name: 'SEGANET_UPLINK_TOPIC',
    initial: always('gw/{gateway}/{class}'),
    check: checks.topicTemplate,
    help: 'Topic of a batch; {device} and {topic} are also allowed.'
  },
  {
    name: 'SEGANET_SESSIONS',
    initial: always('1,2/3,4'),
    check: checks.sessions,
    help: 'MQTT sessions with the cloud: commas separate classes, slashes sessions; all = one session.'
  },
  {
    name: 'SEGANET_RESERVE',
    initial: always('25'),
    check: checks.property(broker.reserve),
    help: 'Percent of SEGANET_INFLIGHT that only class 1 may fill.'
  },
  {
    name: 'SEGANET_UPLINK_PRIORITY',
    shown: '6,0',
    initial: always(''),
    check: checks.bySession(6),
    help: 'SO_PRIORITY of each session, most urgent first.'
  },
  {
    name: 'SEGANET_UPLINK_DSCP',
    shown: '46,0',
    initial: always(''),
    check: checks.bySession(63),
    help: 'DSCP mark of each session.'
  },
  {
    name: 'SEGANET_NOTSENT_LOWAT',
    shown: '0,16384',
    initial: always(''),
    check: checks.bySession(67108864),
    help: 'Unsent bytes that a session may have in the kernel; 0 = as many as the kernel accepts.'
  },
  {
    name: 'SEGANET_SEND_BUFFER',
    shown: '0,0',
    initial: always(''),
    check: checks.bySession(67108864),
    help: 'Send buffer of each session, bytes; 0 = system default.'
  },
  {
    name: 'SEGANET_RULES',
    shown: 'none',
    initial: always(''),
    check: checks.rules,
    help: 'Priority rules, JSON: [{"topic":"d/+/alarm","class":1}]. First match wins.'
  },
  {
    name: 'SEGANET_DEVICE_CLASSES',
    shown: 'none',
    initial: always(''),
    check: checks.deviceClasses,
    help: 'Classes of registered devices, JSON: [{"device":"pump-*","class":2}].'
  },
  {
    name: 'SEGANET_BATCH_MODE',
    initial: always('envelope'),
    check: checks.property(batch.mode),
    help: 'envelope (many records per PUBLISH), records (one each) or off.'
  },
  {
    name: 'SEGANET_BATCH_DEVICES',
    initial: always('50'),
    check: checks.property(batch.minDevices),
    help: 'Batch only with at least this many connected devices; 0 = always.'
  },
  {
    name: 'SEGANET_BATCH_BYTES',
    initial: always('1024'),
    check: checks.property(batch.maxBytes),
    help: 'A batch is sealed before it exceeds this many payload bytes.'
  },
  {
    name: 'SEGANET_BATCH_MS',
    initial: always('1000'),
    check: checks.property(batch.maxDelayMs),
    help: 'A batch is sealed when its oldest record is this old.'
  },
  {
    name: 'SEGANET_BATCH_FLUSH',
    initial: always('adaptive'),
    check: checks.property(batch.flush),
    help: 'adaptive: whenever the uplink has room, SEGANET_BATCH_MS at the latest; or limits (the three above).'
  },
  {
    name: 'SEGANET_BATCH_GAP_MS',
    initial: always('2'),
    check: checks.property(batch.gapMs),
    help: 'adaptive: time between two batches of a busy class; shorter when fewer records arrive.'
  },
  {
    name: 'SEGANET_WORKERS',
    initial: always('0'),
    check: checks.property(engine.workers),
    help: 'Worker threads; 0 = one for each allowed core except the first.'
  },
  {
    name: 'SEGANET_CPUS',
    shown: 'all except the first',
    initial: always(''),
    check: checks.property(engine.cpus),
    help: 'Cores for the workers, such as 1-3,5.'
  },
  {
    name: 'SEGANET_WAKE_US',
    initial: always('800'),
    check: checks.property(engine.wakeIntervalUs),
    help: 'A busy worker with 32 or more devices wakes up at most once in this many µs: less CPU time, more latency.'
  },
  {
    name: 'SEGANET_REBALANCE',
    initial: always('off'),
    check: checks.property(engine.rebalance),
    help: 'live: a worker that stays busier than another hands devices over to it.'
  },
  {
    name: 'SEGANET_ODD_TOPICS',
    initial: always('refuse'),
    check: checks.property(engine.oddTopics),
    help: 'accept: allow topics and device ids that begin with $ or contain a control character.'
  },
  {
    name: 'SEGANET_INFLIGHT',
    initial: always('32'),
    check: checks.property(broker.inflight),
    help: 'Maximum number of PUBLISH packets sent to the cloud and not yet acknowledged.'
  },
  {
    name: 'SEGANET_MEMORY_MIB',
    initial: always('64'),
    check: checks.property(engine.memoryMiB),
    help: 'Memory for records; see SEGANET_WHEN_FULL.'
  },
  {
    name: 'SEGANET_ACKNOWLEDGE',
    initial: always('safe'),
    check: checks.property(engine.acknowledge),
    help: 'Acknowledge a record when it is on disk or in the cloud (safe), on disk (stored), or at once (received).'
  },
  {
    name: 'SEGANET_LOG_DIR',
    shown: 'in SEGANET_HOME',
    initial: always(''),
    check: checks.logFolder,
    help: 'Folder of the log, which keeps records that the cloud has not acknowledged.'
  },
  {
    name: 'SEGANET_LOG_MIB',
    initial: always('1024'),
    check: checks.property(engine.logMiB),
    help: 'Size limit of the log.'
  },
  {
    name: 'SEGANET_LOG_TTL',
    shown: 'forever',
    initial: always(''),
    check: checks.property(engine.ttl),
    help: 'How long records may wait, live or in the log, for classes 1, 2 …: 0,0,7d,1d (s, m, h, d; 0 = forever).'
  },
  {
    name: 'SEGANET_CLASS_WEIGHTS',
    initial: always('0,8,4,1'),
    check: checks.property(engine.weights),
    help: 'Shares of classes 2, 3 … when several wait; 0 for class 1, which goes first.'
  },
  {
    name: 'SEGANET_AGING_MS',
    initial: always('5000'),
    check: checks.property(engine.agingMs),
    help: 'A class that sent nothing for this long sends one batch before class 1; 0 = never.'
  },
  {
    name: 'SEGANET_CLASS_RATE',
    shown: 'no limit',
    initial: always(''),
    check: checks.property(engine.classRate),
    help: 'Records per second to the cloud, for classes 1, 2 …: 0,0,0,100 (0 = no limit).'
  },
  {
    name: 'SEGANET_CLASS_QUEUE',
    shown: 'no limit',
    initial: always(''),
    check: checks.property(engine.classQueue),
    help: 'Records in memory, for classes 1, 2 …: 0,0,0,5000; beyond: SEGANET_WHEN_FULL.'
  },
  {
    name: 'SEGANET_WHEN_FULL',
    initial: always('slow'),
    check: checks.property(engine.whenFull),
    help: 'When memory, the log or a queue is full: slow makes devices wait, drop drops the lowest class, oldest first.'
  },
  {
    name: 'SEGANET_BACKLOG_RATE',
    initial: always('5000'),
    check: checks.property(broker.backlogRate),
    help: 'Maximum records per second sent from the log after an outage; 0 = no limit.'
  },
  {
    name: 'SEGANET_BACKLOG_SHARE',
    initial: always('50'),
    check: checks.property(broker.backlogShare),
    help: 'Percent of SEGANET_INFLIGHT that records from the log may use.'
  },
  {
    name: 'SEGANET_HISTORY',
    initial: always('property'),
    check: checks.property(uplink.history),
    help: 'Mark of records from the log: a user property (MQTT 5), the topic suffix /history, or none.'
  },
  {
    name: 'SEGANET_COMMANDS',
    initial: always('off'),
    check: checks.property(broker.commands),
    help: 'on: the cloud may send commands to devices (cmd/GATEWAY/DEVICE/…).'
  },
  {
    name: 'SEGANET_COMMAND_PREFIX',
    initial: always('cmd'),
    check: checks.property(broker.commandPrefix),
    help: 'First levels of the command topic; reports go to PREFIX-report/….'
  },
  {
    name: 'SEGANET_EDITOR_PORT',
    initial: always('1880'),
    check: checks.portOrOff,
    help: 'Port of the Node-RED editor, or off.'
  },
  {
    name: 'SEGANET_EDITOR_HOST',
    initial: always('127.0.0.1'),
    check: checks.host,
    help: 'Address of the editor; any address other than loopback requires a password.'
  },
  { name: 'SEGANET_ADMIN_USER', initial: always(''), check: checks.text, help: 'User name for the editor.' },
  {
    name: 'SEGANET_ADMIN_PASSWORD_HASH',
    initial: always(''),
    check: checks.text,
    help: "bcrypt hash of the editor's password (npx node-red admin hash-pw)."
  }
];

module.exports = { VARIABLES };
