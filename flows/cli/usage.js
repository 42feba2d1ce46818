'use strict';
// Reads the command line of seganet-gateway.

const path = require('node:path');
const { readCommandLine, usageOf } = require('../../nodes/lib/base/cli/command-line');
const { readDays } = require('../../nodes/lib/parquet/store/days');
const { LANGUAGES } = require('../launcher/flow-texts');
const { PRESETS } = require('../launcher/presets');

const EXIT = /** @type {const} */ ({ OK: 0, DEGRADED: 1, USAGE: 2, NOT_RUNNING: 2, CANNOT: 3, CONFIG: 78 });

const DEFAULT_UNITS = '/etc/systemd/system';
/** Devices a second, and seconds, of drain. */
const DRAIN_RATE = { initial: 100, most: 100_000 };
const DRAIN_WAIT = { initial: 300, most: 86_400 };
/** Most that a restore unpacks, GiB. */
const MOST_GIB = { initial: 64, most: 65_536 };

/** Shadows of one list. */
const LIMIT = { initial: 100, most: 1000 };
/** What shadow does, with the number of its operands. @type {Record<string, number>} */
const SHADOW_VERBS = { list: 0, get: 1, set: 2, delete: 1 };
/** Of the answer to a query. */
const FORMATS = ['table', 'csv', 'json'];
/** Copies of objects of buckets, MiB. */
const CACHE_LIMIT = { initial: 1024, most: 1_048_576 };
/** What query has for buckets only. */
const OF_BUCKETS = ['endpoint', 'region', 'cache', 'cache-limit', 'remove-cache'];

const OPTIONS = {
  home: `  --home DIR         the gateway's folder; default: SEGANET_HOME, else ~/.seganet`,
  language: `  --language NAME    of the flow: ${LANGUAGES.join(' or ')}; sets SEGANET_LANGUAGE in gateway.env`,
  preset: `  --preset NAME      of the flow: ${Object.keys(PRESETS).join(' or ')}; sets SEGANET_PRESET in gateway.env`,
  connect: `  --connect          check: also connect to each broker and Kafka cluster; each topic of MQTT gets an empty message`,
  force: `  --force            backup, install-service: replace the existing file;
                     restore: set the existing folder aside as DIR.before-<time>`,
  'most-gib': `  --most-gib N       restore: refuse a backup whose files have more than N GiB together; default ${MOST_GIB.initial}`,
  print: `  --print            print the unit and install nothing`,
  user: `  --user NAME        user of the service; default seganet`,
  'unit-dir': `  --unit-dir DIR     folder for the unit; default ${DEFAULT_UNITS}`,
  open: `  --open             events: only open events`,
  acknowledge: `  --acknowledge ID   events: acknowledge this event`,
  rate: `  --rate N           drain: devices to disconnect per second; default ${DRAIN_RATE.initial}`,
  to: `  --to SERVER        drain: tell MQTT 5 devices to connect to this gateway instead, such as gw-b.example:1883`,
  wait: `  --wait S           drain: seconds to wait until the gateway is empty; default ${DRAIN_WAIT.initial}`,
  folder: `  --folder DIR       query: folder of the Parquet files; default: the only one in seganet-parquet of the gateway's folder`,
  bucket: `  --bucket URL       query: bucket of the Parquet files, such as s3://plant/records`,
  endpoint: `  --endpoint URL     query: of the bucket's store; default: that of the flow's parquet uplink node with this bucket, else
                     AWS_ENDPOINT_URL, else Amazon's`,
  region: `  --region NAME      query: of the bucket; default: that of the node, else AWS_REGION, else us-east-1`,
  days: `  --days FROM..TO    query: only the files of these days (UTC), or of one DAY; FROM or TO may be missing`,
  cache: `  --cache DIR        query: folder for copies of the bucket's files; default: query-cache in the gateway's folder`,
  'cache-limit': `  --cache-limit MIB  query: size of all copies in it; default ${CACHE_LIMIT.initial}`,
  'remove-cache': `  --remove-cache     query: remove the copies of the bucket at the end`,
  format: `  --format NAME      query: ${FORMATS.join(', ')}; default table. json: one object a line`,
  engine: `  --engine ID        shadow: id of the engine node; default: the first one that has shadows`,
  after: `  --after DEVICE     shadow list: begin behind this device`,
  limit: `  --limit N          shadow list: maximum number of shadows; default ${LIMIT.initial}, at most ${LIMIT.most}`,
  'if-version': `  --if-version N     shadow set: only if the shadow has this version; 0 = there is none`,
  json: `  --json             print one JSON object`
};

/** @type {Record<string, { says: string, more: string, options: (keyof typeof OPTIONS)[], operands?: string[] }>} */
const COMMANDS = {
  init: {
    says: 'creates the folder with settings, starter flow and log folder; overwrites nothing',
    more: `The settings are in gateway.env: one line for each environment variable of the gateway, all commented out.`,
    options: ['home', 'language', 'preset']
  },
  start: {
    says: 'runs the gateway in the foreground, as npm start does',
    more: `Reads gateway.env first; a variable that is set in the environment wins. Ends in order on SIGTERM or SIGINT.`,
    options: ['home']
  },
  check: {
    says: 'checks settings, flow, engine, ports, rights, disk and clock without starting',
    more: `Exit code 0: the gateway can start. 78: a sentence for each problem says what to change.`,
    options: ['home', 'connect', 'json']
  },
  status: {
    says: 'shows what the running gateway does',
    more: `Exit code 0: it works. 1: it is degraded, and a sentence for each problem says why. 2: it is not running.
Run it as the gateway's user or as root.`,
    options: ['home', 'json']
  },
  events: {
    says: 'lists what happened to the running gateway, newest first, or acknowledges an event',
    more: `Lists at most 50 events. The status page and the admin API have all of the last 90 days.`,
    options: ['home', 'open', 'acknowledge', 'json']
  },
  query: {
    says: 'asks the Parquet files of a parquet uplink node a question in SQL',
    more: `SQL is one SELECT of DuckDB over the view records, such as
"SELECT device, avg(value) FROM records WHERE date = '2026-11-30' GROUP BY device". The gateway may run meanwhile: the view
has the files that the manifests name. A question can only read these files. Needs the package @duckdb/node-api.

The files of a bucket are copied first: all of them, or those of --days; the SQL does not change which. Later questions
use the copies again that the bucket still has. The keys are those of the flow's parquet uplink node with this bucket and
prefix, else those in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
    operands: ['SQL'],
    options: [
      'home',
      'folder',
      'bucket',
      'endpoint',
      'region',
      'days',
      'cache',
      'cache-limit',
      'remove-cache',
      'format'
    ]
  },
  shadow: {
    says: 'lists, reads, sets and deletes the device shadows of the running gateway',
    more: `  list                 lists shadows by device
  get DEVICE           prints what is desired of the device, what it has reported, and the difference
  set DEVICE DESIRED   sets what is desired: a JSON object, which is merged into what is desired already; null removes a
                       key; - reads it from standard input. The command ends when it is on disk
  delete DEVICE        deletes the shadow

Needs a shadow node in the flow. Run it as the gateway's user or as root.`,
    operands: ['VERB', '[DEVICE]', '[DESIRED]'],
    options: ['home', 'engine', 'after', 'limit', 'if-version', 'json']
  },
  drain: {
    says: 'hands the devices of the running gateway over to others before planned work',
    more: `Closes the listeners, except HTTP and CoAP over UDP and DTLS, and disconnects devices at the given rate, so that they
reconnect to another gateway behind the load balancer. MQTT 5 devices get the reason 0x9C (use another server). Records
that are already here still go to the cloud. Exit code 0: no devices and no records are left, so the gateway can be
stopped. 1: some are left when the wait ends. A restart or a full deploy accepts devices again.`,
    options: ['home', 'rate', 'to', 'wait', 'json']
  },
  backup: {
    says: 'writes flow, settings, passwords and log into one file, also while the gateway runs',
    more: `The file is a tar archive (gzip) with SHA-256 checksums. It contains secrets: keep it as safe as the gateway.
It has every record that was stored before the command. While the gateway runs, the copy of the log needs free space
beside the log. node_modules, the demo's files, earlier backups, and the data of tenants are not included:
seganet-tenants backup saves a tenant.`,
    operands: ['FILE'],
    options: ['home', 'force']
  },
  restore: {
    says: 'restores a backup, completely or not at all',
    more: `Refuses while the gateway runs, and refuses a folder that is not empty without --force. Records of the log that the
cloud has already are sent again. Refuses a backup whose files are larger together than the free space of the disk.`,
    operands: ['FILE'],
    options: ['home', 'force', 'most-gib']
  },
  'install-service': {
    says: 'writes or prints a systemd unit for the gateway or a part beside it',
    more: `Without SERVICE, the unit is the gateway's. It runs as an unprivileged user with the watchdog on, and with the
capabilities that the flow needs. The folder is /var/lib/seganet unless --home names another one.

SERVICE
  gateway            the gateway
  tenants            the keeper of tenants: seganet-tenants run
  tenants-net        its firewall rules, as root: seganet-tenants net apply
  overlay            a node of an overlay network: seganet-overlay node --state DIR OPTIONS
  overlay-services   the services of an overlay network: seganet-overlay serve --state DIR OPTIONS

OPTIONS are those of seganet-overlay, after --:
  seganet-gateway install-service overlay-services -- --network plant --public overlay.example.com
DIR is /var/lib/seganet-overlay or /var/lib/seganet-overlay-services unless --home names another one.`,
    operands: ['[SERVICE]', '[OPTIONS...]'],
    options: ['home', 'print', 'user', 'unit-dir', 'force']
  }
};

/** What install-service makes a unit for; the first is the default. */
const SERVICES = ['gateway', 'tenants', 'tenants-net', 'overlay', 'overlay-services'];

const EXITS = `exit codes
  0  done; status: it works              1  status: degraded
  2  wrong usage; status: not running    3  not possible: a sentence says why
  78 check, start: the configuration is wrong`;

const usage = usageOf('seganet-gateway');

const PROGRAM = {
  name: 'seganet-gateway',
  commands: COMMANDS,
  flags: ['connect', 'force', 'print', 'json', 'open', 'remove-cache'],
  help: {
    purpose: 'Sets up, runs, checks and backs up a SegaNet gateway on a machine without a screen.',
    options: OPTIONS,
    exits: EXITS,
    documents: ['reference/cli.md', 'use/operations.md']
  }
};

/**
 * @typedef {object} Options
 * @property {string} home absolute; '' = not given
 * @property {string} language '' = not given
 * @property {string} preset '' = not given
 * @property {string} file operand, absolute; '' = none
 * @property {string} service of install-service: one of SERVICES
 * @property {string[]} args of that service's program
 * @property {boolean} force
 * @property {number} mostGib
 * @property {number} rate devices a second
 * @property {string} to another server, '' = none
 * @property {number} wait s
 * @property {boolean} print
 * @property {boolean} json
 * @property {boolean} connect
 * @property {boolean} open
 * @property {number} acknowledge id of an event, 0 = none
 * @property {string} user
 * @property {string} unitDir
 * @property {Question | null} question null: of another command
 * @property {import('./shadow').Asked | null} shadow null: of another command
 *
 * @typedef {object} Question of query
 * @property {string} sql
 * @property {string} format of the answer
 * @property {string} folder of Parquet files, absolute; '' = not given
 * @property {string} bucket URL; '' = not given
 * @property {string} endpoint '' = not given
 * @property {string} region '' = not given
 * @property {import('../../nodes/lib/parquet/store/days').Days} days
 * @property {string} cache absolute; '' = not given
 * @property {number} cacheMib
 * @property {boolean} removesCache
 */

/**
 * @param {Parameters<Parameters<typeof readCommandLine>[2]>[0]} given
 * @param {string} sql
 * @returns {Question}
 */
function readQuestion(given, sql) {
  const [folder, cache] = [given.folder('folder'), given.folder('cache')];
  const bucket = given.text('bucket') ?? '';
  if (bucket && folder) throw usage('A question is about a --folder or a --bucket.');
  if (given.text('bucket') !== undefined && !/^s3:\/\/[^/\s]+(\/\S*)?$/.test(bucket))
    throw usage('--bucket takes a URL such as s3://plant/records.');
  const foreign = OF_BUCKETS.find((name) => folder && (given.text(name) !== undefined || given.flag(name)));
  if (foreign) throw usage(`--${foreign} is for a bucket.`);
  const [endpoint, region] = [given.text('endpoint') ?? '', given.text('region') ?? ''];
  if ((endpoint || region) && !bucket) throw usage(`--${endpoint ? 'endpoint' : 'region'} needs a --bucket.`);
  const days = readDays(given.text('days') ?? '..');
  if (!days && given.text('days') !== undefined)
    throw usage(
      '--days takes days such as 2026-11-30, 2026-11-01..2026-11-30 or 2026-11-01.. in this order.'
    );
  const format = given.text('format') ?? FORMATS[0];
  if (!FORMATS.includes(format)) throw usage(`--format takes one of ${FORMATS.join(', ')}.`);
  return {
    sql,
    format,
    folder: folder === undefined ? '' : path.resolve(folder),
    bucket,
    endpoint,
    region,
    days: days ?? { from: '', to: '' },
    cache: cache === undefined ? '' : path.resolve(cache),
    cacheMib: given.whole('cache-limit', CACHE_LIMIT),
    removesCache: given.flag('remove-cache')
  };
}

/**
 * @param {Parameters<Parameters<typeof readCommandLine>[2]>[0]} given
 * @param {string} verb
 * @param {string[]} operands
 * @returns {import('./shadow').Asked}
 */
function readShadow(given, verb, operands) {
  if (!Object.hasOwn(SHADOW_VERBS, verb))
    throw usage(`shadow takes ${Object.keys(SHADOW_VERBS).join(', ')}, not '${verb}'.`);
  const wanted = SHADOW_VERBS[verb];
  if (operands.length < wanted) throw usage(`${['DEVICE', 'DESIRED'][operands.length]} is missing.`);
  if (operands.length > wanted) throw usage(`'${operands[wanted]}' is one argument too many.`);
  const foreign = ['after', 'limit', 'if-version'].find(
    (name) => given.text(name) !== undefined && (name === 'if-version' ? verb !== 'set' : verb !== 'list')
  );
  if (foreign) throw usage(`shadow ${verb} has no option --${foreign}.`);
  const version = given.text('if-version') ?? '';
  if (!/^\d{0,15}$/.test(version)) throw usage('--if-version takes a version: a whole number.');
  const [device = '', desired = ''] = operands;
  return {
    verb,
    device,
    desired,
    version,
    engine: given.text('engine') ?? '',
    after: given.text('after') ?? '',
    limit: given.whole('limit', LIMIT)
  };
}

/** @param {string[]} args of the command line */
const readArguments = (args) =>
  readCommandLine(PROGRAM, args, (given, [first, ...more], command) => {
    const question = command === 'query' ? readQuestion(given, first) : null;
    const shadow = command === 'shadow' ? readShadow(given, first, more) : null;
    const [file, service] =
      command === 'install-service' ? ['', first ?? SERVICES[0]] : [question || shadow ? '' : first, ''];
    if (service && !SERVICES.includes(service))
      throw usage(`There is no service '${service}'; it is one of ${SERVICES.join(', ')}.`);
    if (service === 'gateway' && more.length > 0) throw usage(`'${more[0]}' is one argument too many.`);
    if (more.some((each) => /\p{Cc}/u.test(each)))
      throw usage('An option of the service has a control character.');
    const [home, unitDir] = [given.folder('home'), given.folder('unit-dir')];
    const user = given.text('user') ?? 'seganet';
    if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(user))
      throw usage('--user takes the name of a user of this machine.');
    const acknowledge = given.text('acknowledge') ?? '0';
    if (!/^\d{1,15}$/.test(acknowledge)) throw usage('--acknowledge takes the id of an event.');
    const language = given.text('language') ?? '';
    if (language && !LANGUAGES.includes(language))
      throw usage(`--language takes one of ${LANGUAGES.join(', ')}.`);
    const preset = given.text('preset') ?? '';
    if (preset && !Object.hasOwn(PRESETS, preset))
      throw usage(`--preset takes one of ${Object.keys(PRESETS).join(', ')}.`);
    const to = given.text('to') ?? '';
    if (to.length > 120 || /[\s\p{Cc}]/u.test(to))
      throw usage('--to takes an address of at most 120 characters, such as gw-b.example:1883.');
    return {
      question,
      home: home === undefined ? '' : path.resolve(home),
      language,
      preset,
      file: file ? path.resolve(file) : '',
      force: given.flag('force'),
      mostGib: given.whole('most-gib', MOST_GIB),
      rate: given.whole('rate', DRAIN_RATE),
      to,
      wait: given.whole('wait', DRAIN_WAIT),
      print: given.flag('print'),
      json: given.flag('json'),
      connect: given.flag('connect'),
      open: given.flag('open'),
      acknowledge: Number(acknowledge),
      user,
      service,
      args: more,
      shadow,
      unitDir: path.resolve(unitDir ?? DEFAULT_UNITS)
    };
  });

module.exports = { COMMANDS, EXIT, readArguments, usage };
