'use strict';
// seganet-gateway backup and restore in a folder that the keeper of tenants uses, too.

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { Database } = require('../../nodes/lib/store/log-database');
const { command, filesIn, newHome, throughBackup } = require('./backup-command');
const { temporaryFolder, cleanUp } = require('./process');

jest.setTimeout(60000);
/** @type {(() => unknown)[]} */
const open = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
  await cleanUp();
});

/** A gateway's folder with a tenant whose gateway has its log open. */
function homeWithTenant() {
  const home = newHome();
  const tenants = path.join(home, 'tenants');
  const log = new Database(path.join(tenants, 'volumes', 'acme', 'seganet-log', 'engine'));
  open.push(() => log.close());
  const files = {
    'tenants.json': '{"version":1,"tenants":[]}',
    'keeper.lock': '{}',
    'state/acme/password': 'secret',
    'backups/acme-20261123T021500123Z.tar.zst': 'saved',
    'volumes/acme/gateway.json': '[]'
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(tenants, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  return { home, tenants };
}

test('leaves out the data of a tenant that runs, and says which command saves it', async () => {
  const { home, tenants } = homeWithTenant();
  const server = net.createServer().listen(path.join(tenants, 'keeper.sock'));
  open.push(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { restored, output } = throughBackup(home);
  expect(output.match(/Not in the backup: .*/g)).toEqual([
    `Not in the backup: the data of tenants and their backups (${tenants}/volumes, ${tenants}/backups). ` +
      'Save each tenant with "seganet-tenants backup".'
  ]);
  expect(filesIn(path.join(restored, 'tenants'))).toEqual(['state/acme/password', 'tenants.json']);
});

test('says where the data of the tenants is after a restore', () => {
  const { home } = homeWithTenant();
  const file = `${home}.backup`;
  expect(command('backup', file, '--home', home)).toMatchObject({ code: 0 });
  const { code, output } = command('restore', file, '--home', home, '--force');
  expect(code).toBe(0);
  const [, aside] = /The folder that was there is (\S+)\.$/m.exec(output) ?? [];
  expect(output.match(/^.* was not in the backup\..*$/gm)).toEqual(
    ['volumes', 'backups'].map(
      (name) =>
        `seganet-gateway: ${aside}/tenants/${name} was not in the backup. ` +
        `Move it to ${home}/tenants/${name} before the keeper of the tenants starts.`
    )
  );
  expect(fs.readFileSync(path.join(aside, 'tenants/volumes/acme/gateway.json'), 'utf8')).toBe('[]');
});

test('does not mention tenants where there are none, and names a tenants file elsewhere', () => {
  const home = newHome();
  fs.mkdirSync(path.join(home, 'tenants', 'volumes'), { recursive: true });
  expect(throughBackup(home).output).not.toMatch(/tenants/);
  const file = path.join(temporaryFolder(), 'mine.json');
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_TENANTS='${file}'\n`);
  expect(command('backup', `${home}.second`, '--home', home).output).toMatch(
    `Not in the backup: ${file} (SEGANET_TENANTS) is outside ${home}.`
  );
});
