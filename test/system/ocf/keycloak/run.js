'use strict';
// Tries the ocf cloud's client of OpenID providers with a Keycloak:
//   node native/node/run.js test/system/ocf/keycloak/run.js FOLDER
// FOLDER: an unpacked keycloak-quarkus-dist of Maven Central (160 MB), which needs Java 17 and about 600 MB of memory:
//   mvn org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -DoutputDirectory=. \
//     -Dartifact=org.keycloak:keycloak-quarkus-dist:26.4.0:zip

const path = require('node:path');
const { Child } = require('../../../../bench/harness/child');
const { freePort } = require('../../../../bench/harness/net');
const { Issuer } = require('../../../../nodes/lib/ocf/oidc');
const { Browser } = require('../../../fixtures/ocf/login');

const REDIRECT = 'http://127.0.0.1/code';
const CLIENT = { id: 'seganet-cloud', secret: 'a-secret-of-this-run' };
const START_MS = 900000;

/** @param {string} name @param {boolean} isRight */
function check(name, isRight) {
  console.log(`${isRight ? 'ok  ' : 'FAIL'} ${name}`);
  if (!isRight) process.exitCode = 1;
}

/** Returns a function for requests to Keycloak's admin API. @param {string} base */
async function adminOf(base) {
  const form = { grant_type: 'password', client_id: 'admin-cli', username: 'admin', password: 'admin' };
  const url = `${base}/realms/master/protocol/openid-connect/token`;
  const { access_token: token } = await (
    await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  ).json();
  return async (/** @type {string} */ method, /** @type {string} */ place, /** @type {object} */ body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${base}/admin/realms/master${place}`, {
      method,
      headers,
      body: JSON.stringify(body)
    });
    if (!answer.ok) throw new Error(`${method} ${place}: ${answer.status} ${await answer.text()}`);
    return answer.headers.get('location') ?? '';
  };
}

/** Logs in by the pages of Keycloak, and returns the code. @param {string} issuer */
async function login(issuer) {
  const query = new URLSearchParams({
    client_id: CLIENT.id,
    response_type: 'code',
    scope: 'openid offline_access',
    redirect_uri: REDIRECT
  });
  const browser = new Browser();
  const page = await browser.go(`${issuer}/protocol/openid-connect/auth?${query}`);
  const action = /action="([^"]+)"/.exec(page.html)?.[1].replaceAll('&amp;', '&') ?? '';
  const form = { username: 'alice', password: 'pw' };
  const { url } = await browser.go(action, { form, follow: false });
  const code = new URL(url).searchParams.get('code');
  if (!code) throw new Error(`There is no code: ${url}`);
  return code;
}

/** @param {string} base */
async function run(base) {
  const issuer = `${base}/realms/master`;
  const admin = await adminOf(base);
  await admin('POST', '/clients', {
    clientId: CLIENT.id,
    secret: CLIENT.secret,
    redirectUris: [REDIRECT],
    standardFlowEnabled: true
  });
  const user = await admin('POST', '/users', {
    username: 'alice',
    enabled: true,
    firstName: 'A',
    lastName: 'B',
    email: 'a@example.org',
    emailVerified: true,
    credentials: [{ type: 'password', value: 'pw', temporary: false }]
  });
  const id = user.split('/').at(-1) ?? '';
  const events = { warn: console.log, log: () => {} };
  const settings = { issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, redirectUri: REDIRECT };
  const client = new Issuer(settings, events);
  const code = await login(issuer);
  const found = await client.exchange(code);
  check('a code gives the user', found?.sub === id && found.issuer === issuer);
  check('the login gives a refresh token', Boolean(found?.refreshToken));
  check('a used code is refused', (await client.exchange(code)) === null);
  check('a wrong code is refused', (await client.exchange('nonsense')) === null);
  const second = await client.exchange(await login(issuer));
  const renewed = await client.renew(second?.refreshToken ?? '');
  check('the user is confirmed', renewed !== null);
  await admin('PUT', `/users/${id}`, { enabled: false });
  const token = renewed?.refreshToken || second?.refreshToken || '';
  check('a disabled user is refused', (await client.renew(token)) === null);
  const other = new Issuer({ ...settings, clientSecret: 'wrong' }, { ...events, warn: () => {} });
  const outcome = await other.exchange('nonsense').catch((error) => error.constructor.name);
  check('a wrong client secret counts as unavailable', outcome === 'Unavailable');
  client.close();
  other.close();
}

async function main() {
  const [folder] = process.argv.slice(2);
  if (!folder) throw new Error('Name the folder of Keycloak.');
  const port = await freePort();
  const keycloak = new Child(
    path.join(folder, 'bin', 'kc.sh'),
    ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`],
    {
      name: 'keycloak',
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
        KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin',
        JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1 -Xmx512m'
      }
    }
  );
  try {
    await keycloak.until((output) => /Listening on:/.test(output), START_MS);
    await run(`http://127.0.0.1:${port}`);
  } finally {
    await keycloak.stop('SIGTERM', 30000);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
