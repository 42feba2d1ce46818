'use strict';
// The systemd units of what runs beside the gateway: the keeper of tenants and its rules, a node of an overlay network,
// and the network's services.

const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { shellWord } = require('../../nodes/lib/base/cli/shell-word');
const { noProgram, program } = require('../../nodes/lib/overlay/locations');
const { quoted, word } = require('./unit-words');
const { EXIT, usage } = require('./usage');

/** Folders of users. */
const PRIVATE = /^\/(home|root)\//;
const NET_ADMIN = 'CAP_NET_ADMIN';
const BIND = 'CAP_NET_BIND_SERVICE';
const RAW = 'CAP_NET_RAW';

/**
 * @typedef {object} Asked
 * @property {string} home absolute, '' = the default of the service
 * @property {string} user
 * @property {string[]} args of the program, after --
 * @property {string} node absolute path of Node
 * @property {string} keeper absolute path of the script of seganet-tenants
 * @property {string[]} groups of this machine
 * @property {NodeJS.ProcessEnv} env
 *
 * @typedef {object} Beside a service beside the gateway
 * @property {string} name of its unit, without .service
 * @property {string[]} files that its user must be able to read
 * @property {string} text of the unit
 * @property {string[]} next commands to paste into a shell
 */

/**
 * @param {object} parts
 * @param {string} parts.what
 * @param {string[]} [parts.order] lines of [Unit]
 * @param {string[]} parts.run lines of [Service] that start it
 * @param {string} parts.user '' = root
 * @param {string} [parts.folder] in which it writes
 * @param {string[]} [parts.capabilities] all that it has; missing: those of its user
 * @param {string[]} [parts.protection] more lines
 * @param {string[]} parts.files that it needs to read
 */
function unit({ what, order = [], run, user, folder, capabilities, protection = [], files }) {
  const isState = folder !== undefined && path.dirname(folder) === '/var/lib';
  const names = capabilities?.join(' ');
  const lines = [
    '# Written by seganet-gateway install-service.',
    '[Unit]',
    `Description=${what}`,
    'Wants=network-online.target time-sync.target',
    'After=network-online.target time-sync.target',
    ...order,
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    ...run,
    ...(user ? [`User=${user}`] : []),
    'UMask=0077',
    ...(isState ? [`StateDirectory=${path.basename(folder)}`, 'StateDirectoryMode=0700'] : []),
    ...protection,
    ...(names === undefined ? [] : [`AmbientCapabilities=${names}`, `CapabilityBoundingSet=${names}`]),
    'NoNewPrivileges=yes',
    ...(folder === undefined || isState ? [] : [`ReadWritePaths=${word(folder)}`]),
    `ProtectHome=${[folder ?? '', ...files].some((file) => PRIVATE.test(file)) ? 'read-only' : 'yes'}`,
    'ProtectKernelLogs=yes',
    'ProtectClock=yes',
    'ProtectHostname=yes',
    'RestrictRealtime=yes',
    'LockPersonality=yes',
    'SystemCallArchitectures=native',
    '',
    '[Install]',
    'WantedBy=multi-user.target'
  ];
  return `${lines.join('\n')}\n`;
}

/** Lines of a service that runs until it is stopped. @param {string} command @param {string} stopSec */
const daemon = (command, stopSec) => [
  'Type=exec',
  `ExecStart=${command}`,
  `TimeoutStopSec=${stopSec}`,
  'Restart=on-failure',
  'RestartSec=5',
  '# 2 and 78: the options or the settings are wrong, which another start does not cure.',
  'RestartPreventExitStatus=2 78',
  'LimitNOFILE=65536'
];

/** @param {string} name @returns {string} */
const enable = (name) => `systemctl daemon-reload && systemctl enable --now ${name}`;

/** @param {string} user @param {string} home @returns {string} */
const makeUser = (user, home) =>
  `useradd --system --home-dir ${shellWord(home)} --shell /usr/sbin/nologin ${user}   # if there is no such user`;

/** @param {Asked} asked @param {string} service @throws {CliError} */
function refuseOptions({ args }, service) {
  if (args.length > 0) throw usage(`The service ${service} takes no options of its own: '${args[0]}'.`);
}

/** @param {Asked} asked @returns {Beside} the keeper */
function tenants(asked) {
  refuseOptions(asked, 'tenants');
  const { home: given, user, node, keeper, groups } = asked;
  const home = given || '/var/lib/seganet';
  const name = 'seganet-tenants';
  const files = [node, keeper];
  const engine = groups.includes('docker')
    ? ['# Who may use the socket of Docker has the rights of root.', 'SupplementaryGroups=docker']
    : [];
  const run = [
    ...daemon(`${quoted(node)} ${quoted(keeper)} run`, '60'),
    '# Tenants that run stay, and the next keeper finds them.',
    'KillMode=process',
    'ExecReload=/bin/kill -HUP $MAINPID',
    `Environment=${word(`SEGANET_HOME=${home}`)}`,
    ...engine
  ];
  const text = unit({
    what: 'Keeper of the tenants of a SegaNet Gateway',
    order: [
      'After=seganet-tenants-net.service docker.service podman.socket',
      'Before=seganet-gateway.service'
    ],
    run,
    user,
    folder: home,
    // As root, it gives the folders of tenants to their users.
    capabilities: user === 'root' ? undefined : [],
    protection: ['ProtectSystem=full'],
    files
  });
  const next = [makeUser(user, home), 'seganet-gateway install-service tenants-net', enable(name)];
  return { name, files, text, next };
}

/** @param {Asked} asked @returns {Beside} the rules that keep containers away from this machine's ports */
function tenantsNet(asked) {
  refuseOptions(asked, 'tenants-net');
  const name = 'seganet-tenants-net';
  const { node, keeper } = asked;
  const files = [node, keeper];
  const own = files.find((file) => PRIVATE.test(file));
  if (own)
    throw new CliError(
      `This service runs as root, and ${own} belongs to a user. Install Node and the gateway globally.`,
      EXIT.CANNOT
    );
  const command = `${quoted(node)} ${quoted(keeper)} net`;
  const text = unit({
    what: 'Firewall rules for the tenants of a SegaNet Gateway',
    order: ['Before=seganet-tenants.service seganet-gateway.service'],
    run: ['Type=oneshot', 'RemainAfterExit=yes', `ExecStart=${command} apply`, `ExecStop=${command} remove`],
    user: '',
    files
  });
  return { name, files, text, next: [enable(name)] };
}

/** @param {NodeJS.ProcessEnv} env @returns {string} @throws {CliError} */
function overlayProgram(env) {
  const file = program(env);
  if (!file) throw new CliError(noProgram(), EXIT.CANNOT);
  // systemd takes these in arguments, but not in the name of a program.
  if (/["'\\$]/.test(file))
    throw new CliError(
      `systemd runs no program with a quote, \\ or $ in its path: ${file}. Move it.`,
      EXIT.CANNOT
    );
  return file;
}

/** Protection of the overlay's program. */
const STRICT = [
  'ProtectSystem=strict',
  'PrivateTmp=yes',
  'ProtectKernelTunables=yes',
  'ProtectKernelModules=yes',
  'ProtectControlGroups=yes',
  'RestrictNamespaces=yes',
  'RestrictSUIDSGID=yes',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK'
];

/** @param {string[]} args of a Go program @param {string} option @returns {boolean} */
const has = (args, option) =>
  args.some((each) => [`-${option}`, `--${option}`].includes(each.replace(/=.*$/s, '')));

/** @param {Asked} asked @returns {Beside} a node of an overlay network */
function overlay({ home: given, user, args, env }) {
  const name = 'seganet-overlay';
  const home = given || `/var/lib/${name}`;
  const file = overlayProgram(env);
  const text = unit({
    what: 'Node of a SegaNet overlay network',
    run: daemon([quoted(file), 'node', '--state', ...[home, ...args].map(quoted)].join(' '), '10'),
    user,
    folder: home,
    capabilities: has(args, 'tun') ? [NET_ADMIN, BIND, RAW] : [],
    protection: STRICT,
    files: [file]
  });
  const join = `${shellWord(file)} join --state ${shellWord(home)} --url https://… --root sha256:… --token-file token`;
  const next = [
    makeUser(user, home),
    `${join}   # once: seganet-overlay invite prints it`,
    `chown -R ${user}: ${shellWord(home)}`,
    enable(name)
  ];
  return { name, files: [file], text, next };
}

/** @param {Asked} asked @returns {Beside} the services of an overlay network */
function overlayServices({ home: given, user, args, env }) {
  const name = 'seganet-overlay-services';
  const home = given || `/var/lib/${name}`;
  if (!has(args, 'public'))
    throw usage(
      `The services need their options, --public at least: install-service overlay-services -- --network plant --public overlay.example.com.`
    );
  const file = overlayProgram(env);
  const text = unit({
    what: 'Services of a SegaNet overlay network',
    run: daemon([quoted(file), 'serve', '--state', ...[home, ...args].map(quoted)].join(' '), '10'),
    user,
    folder: home,
    capabilities: [BIND],
    protection: STRICT,
    files: [file]
  });
  const next = [
    makeUser(user, home),
    enable(name),
    `sudo -u ${user} ${shellWord(file)} invite --state ${shellWord(home)} --name hall-3   # for each node`
  ];
  return { name, files: [file], text, next };
}

/** @type {Record<string, (asked: Asked) => Beside>} */
const BESIDE = { tenants, 'tenants-net': tenantsNet, overlay, 'overlay-services': overlayServices };

module.exports = { BESIDE };
