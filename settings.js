'use strict';

// Node-RED's settings for the gateway. `npm start` uses them; so does `npx node-red -s settings.js`.
// What each variable means: flows/launcher/environment.js. What is refused and why: docs/use/security.md.

const { applyEnvironment } = require('./flows/launcher/environment');
const { prepareHome } = require('./flows/launcher/home');
const { logLine } = require('./flows/launcher/log');
const { guardOf } = require('./flows/launcher/guard');
const { readerWith } = require('./flows/launcher/metrics-token');
const { nodeLogin } = require('./flows/launcher/node-login');
const {
  forgetNodes,
  packagesWithoutNodes,
  removeUnusedNodes,
  unusedCoreNodes
} = require('./flows/launcher/unused-nodes');

// All files are the gateway's own, also those that Node-RED writes: the flow, its secrets, its log.
process.umask(0o077);

const env = applyEnvironment();
const home = prepareHome(env.SEGANET_HOME, env.SEGANET_LANGUAGE);
const editor = env.SEGANET_EDITOR_PORT !== 'off';
const password = env.SEGANET_ADMIN_PASSWORD_HASH;

/** Without an editor: Node-RED opens no HTTP server at all, and loads only the core nodes and our nodes of the flow. */
function headless() {
  const nodesExcludes = unusedCoreNodes(home.flowFile, env.SEGANET_HOME);
  forgetNodes(env.SEGANET_HOME, nodesExcludes);
  const file = require.resolve('./package.json');
  const unused = removeUnusedNodes(file, home.flowFile, env.SEGANET_HOME);
  forgetNodes(env.SEGANET_HOME, unused, require(file).name);
  return {
    httpAdminRoot: false,
    httpNodeRoot: false,
    disableEditor: true,
    nodesExcludes: [...nodesExcludes, ...packagesWithoutNodes(env.SEGANET_HOME)]
  };
}

/** Of an editor without a password. */
const guard = guardOf(env.SEGANET_EDITOR_HOST);

const http = {
  uiHost: env.SEGANET_EDITOR_HOST,
  uiPort: Number(env.SEGANET_EDITOR_PORT),
  seganetEngineStatusPort: env.SEGANET_STATUS_PORT,
  seganetEngineStatusHost: env.SEGANET_STATUS_HOST,
  ...(password
    ? authenticated(env.SEGANET_ADMIN_USER, password)
    : { httpAdminMiddleware: guard.guardRequests, httpNodeMiddleware: guard.guardRequests })
};

/**
 * The editor, its API and the URLs of "http in" nodes ask for the same user and password.
 * @param {string} username
 * @param {string} hash bcrypt
 */
function authenticated(username, hash) {
  const token = env.SEGANET_METRICS_TOKEN;
  return {
    adminAuth: {
      type: 'credentials',
      users: [{ username, password: hash, permissions: '*' }],
      ...(token && { tokens: readerWith(token) })
    },
    httpNodeAuth: nodeLogin(username, hash)
  };
}

module.exports = {
  ...(editor ? http : headless()),

  userDir: env.SEGANET_HOME,
  flowFile: home.flowFile,
  flowFilePretty: true,
  credentialSecret: home.secret,
  // This package's own "node-red" section names the nodes.
  nodesDir: [__dirname],

  // The flow is the gateway's program: no code enters it from a registry.
  externalModules: {
    autoInstall: false,
    palette: { allowInstall: false, allowUpload: false },
    modules: { allowInstall: false }
  },
  functionExternalModules: false,

  // An engine delivers and writes what it holds before it ends; a slow disk may take longer than Node-RED's 15 s.
  nodeCloseTimeout: 24000,

  telemetry: { enabled: false, updateNotification: false },
  diagnostics: { enabled: true, ui: true },
  runtimeState: { enabled: false, ui: false },
  logging: { gateway: { level: 'info', metrics: false, audit: false, handler: () => logLine } },
  editorTheme: {
    page: { title: 'SegaNet Gateway' },
    header: { title: 'SegaNet Gateway' },
    tours: false,
    projects: { enabled: false }
  }
};
