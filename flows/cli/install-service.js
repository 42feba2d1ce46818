'use strict';
// The systemd units of the gateway and of what runs beside it.

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { isRoot, userOfFolder } = require('../../nodes/lib/base/cli/place');
const { withRightsOf } = require('../../nodes/lib/base/cli/rights');
const { shellWord } = require('../../nodes/lib/base/cli/shell-word');
const { replaceFile } = require('../../nodes/lib/base/replace-file');
const { page } = require('../../nodes/lib/base/texts/page');
const { neededCapabilities } = require('./capabilities');
const { foldersOutside } = require('./flow-folders');
const { nodesOf, wantedPorts } = require('./flow-ports');
const { SETTINGS_FILE, environmentOf, settingsOf } = require('./home-settings');
const { BESIDE } = require('./service-units');
const { quoted, word } = require('./unit-words');
const { EXIT } = require('./usage');

const GATEWAY = 'seganet-gateway';
const KEEPER = path.join(__dirname, '..', '..', 'docker', 'tenants', 'main.js');
const STATE = '/var/lib/seganet';
/** Folders of users. */
const PRIVATE = /^\/(home|root)\//;

/**
 * @typedef {object} UnitParts
 * @property {string} node absolute path of Node
 * @property {string} command absolute path of seganet-gateway.js
 * @property {string} home absolute
 * @property {string} user
 * @property {{ name: string, why: string }[]} capabilities
 * @property {boolean} bluetooth
 * @property {string[]} folders outside of the home in which the gateway writes, absolute
 */

/** @param {UnitParts} parts @returns {string} */
function unit({ node, command, home, user, capabilities, bluetooth, folders }) {
  const isState = path.dirname(home) === '/var/lib';
  const names = capabilities.map(({ name }) => name).join(' ');
  const whys = capabilities.map(({ name, why }) => `# ${name}: ${why}.`);
  const families = ['AF_INET', 'AF_INET6', 'AF_UNIX', 'AF_NETLINK', ...(bluetooth ? ['AF_BLUETOOTH'] : [])];
  const lines = [
    '# Written by seganet-gateway install-service. What each line is for:',
    `# ${page('use/raspberry-pi.md')}`,
    '[Unit]',
    'Description=SegaNet Gateway',
    'Wants=network-online.target time-sync.target',
    'After=network-online.target time-sync.target',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    'NotifyAccess=main',
    `ExecStart=${quoted(node)} --max-semi-space-size=1 ${quoted(command)} start`,
    `Environment=${word(`SEGANET_HOME=${home}`)}`,
    `User=${user}`,
    'UMask=0077',
    ...(isState ? [`StateDirectory=${path.basename(home)}`, 'StateDirectoryMode=0700'] : []),
    '',
    '# Ready when the flows run and the listeners are open; alive while all threads of the engine make progress.',
    'TimeoutStartSec=90',
    'TimeoutStopSec=30',
    'WatchdogSec=30',
    'Restart=on-failure',
    'RestartSec=5',
    '# 78: the settings or the flow are wrong, which another start does not cure.',
    'RestartPreventExitStatus=78',
    'LimitNOFILE=65536',
    '',
    'NoNewPrivileges=yes',
    ...whys,
    `AmbientCapabilities=${names}`,
    `CapabilityBoundingSet=${names}`,
    'ProtectSystem=strict',
    ...(isState ? [] : [`ReadWritePaths=${word(home)}`]),
    ...(folders.length > 0 ? ['# Only a folder that exists when the service starts is writable.'] : []),
    ...folders.map((folder) => `ReadWritePaths=${word(`-${folder}`)}`),
    `ProtectHome=${[home, command, node, ...folders].some((file) => PRIVATE.test(file)) ? 'read-only' : 'yes'}`,
    'PrivateTmp=yes',
    'ProtectKernelTunables=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelLogs=yes',
    'ProtectControlGroups=yes',
    'ProtectClock=yes',
    'ProtectHostname=yes',
    'RestrictNamespaces=yes',
    'RestrictRealtime=yes',
    'RestrictSUIDSGID=yes',
    'LockPersonality=yes',
    'SystemCallArchitectures=native',
    `RestrictAddressFamilies=${families.join(' ')}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target'
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * Reads settings and flow with the rights of the folder's owner. The unit needs root later.
 * @param {string} home
 * @returns {{ env: NodeJS.ProcessEnv, flow: any[] }}
 */
function readHome(home) {
  const read = () => ({ env: environmentOf(home), flow: nodesOf(path.join(home, 'gateway.json')) });
  return isRoot() ? withRightsOf(userOfFolder(home), read) : read();
}

/**
 * @param {import('./usage').Options} options
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function installService(options, output) {
  const { service, home, user, args } = options;
  const here = { node: process.execPath, keeper: KEEPER, groups: groupsHere(), env: process.env };
  const { name, files, text, next } =
    service === 'gateway' ? gatewayUnit(options) : BESIDE[service]({ home, user, args, ...here });
  await reportPrivate(files, user, output);
  if (options.print) {
    output.line(text.trimEnd());
    return EXIT.OK;
  }
  const file = write(path.join(options.unitDir, `${name}.service`), text, options.force);
  output.line(`Written: ${file}. Next:`);
  for (const line of next) output.line(`  ${line}`);
  return EXIT.OK;
}

/** @returns {string[]} names of the groups of this machine */
function groupsHere() {
  try {
    return fs
      .readFileSync('/etc/group', 'utf8')
      .split('\n')
      .map((line) => line.split(':')[0]);
  } catch {
    return [];
  }
}

/** @param {import('./usage').Options} options @returns {import('./service-units').Beside} */
function gatewayUnit({ home: given, user }) {
  const home = given || STATE;
  const { env, flow } = readHome(home);
  const ports = wantedPorts(flow, { ...env, ...settingsOf(env).values }).map(({ port }) => port);
  const folders = foldersOutside(flow, env, home);
  const text = unit({
    node: process.execPath,
    command: path.join(__dirname, 'seganet-gateway.js'),
    home,
    user,
    capabilities: neededCapabilities(flow, ports),
    bluetooth: flow.some(({ type }) => type === 'seganet-ble-devices'),
    folders
  });
  const next = nextCommands({ home, user, folders });
  return { name: GATEWAY, files: [process.execPath, __filename], text, next };
}

/** @param {string} file @param {string} text @param {boolean} force @returns {string} file */
function write(file, text, force) {
  if (fs.existsSync(file) && !force) {
    throw new CliError(
      `${file} exists. Replace it with --force, or look at the new one with --print.`,
      EXIT.CANNOT
    );
  }
  try {
    replaceFile(file, text, 0o644);
  } catch (error) {
    throw new CliError(
      `${file} cannot be written: ${/** @type {Error} */ (error).message}. Run the command as root, or use --print.`,
      EXIT.CANNOT
    );
  }
  return file;
}

/**
 * Lists commands to paste into a shell. The folders may come from a flow that another person wrote.
 * @param {Pick<UnitParts, 'home' | 'user' | 'folders'>} parts
 * @returns {string[]}
 */
function nextCommands({ home, user, folders }) {
  const place = shellWord(home);
  return [
    `useradd --system --home-dir ${place} --shell /usr/sbin/nologin ${user}   # if there is no such user`,
    `seganet-gateway init --home ${place} && chown -R ${user}: ${place}`,
    ...folders.map((folder) =>
      // Not chown: a flow could name /etc.
      fs.existsSync(folder)
        ? `# ${shellWord(folder)} exists: the user ${user} must be able to write to it`
        : `mkdir -p ${shellWord(folder)} && chown ${user}: ${shellWord(folder)}   # before the start: only then it is writable`
    ),
    `editor ${shellWord(path.join(home, SETTINGS_FILE))}`,
    'systemctl daemon-reload && systemctl enable --now seganet-gateway'
  ];
}

/**
 * Warns about files that the service's user may not be able to read.
 * @param {string[]} files
 * @param {string} user
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 */
async function reportPrivate(files, user, output) {
  const file = files.find((each) => PRIVATE.test(each));
  if (!file) return;
  await output.note(
    `seganet-gateway: Warning: ${file} is in a home folder. The user ${user} must be able to read it; better install Node and the gateway globally.`
  );
}

module.exports = { installService };
