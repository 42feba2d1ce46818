'use strict';

const fs = require('node:fs');
const { notifyKeeper } = require('../api/reload');
const { listBackups } = require('../backup/backups');
const { volumesAside } = require('../backup/restore');
const { readSettings } = require('../backup/settings');
const { objectName } = require('../drivers/kubernetes-manifest');
const { changeTenants, readTenants } = require('../file/tenants-file');
const { removeOldFlow } = require('../templates/flow');
const { removedData } = require('../templates/removed');
const { tenantOf } = require('./common');

/** Time for an orderly end when no keeper runs. */
const GRACE_MS = 30_000;

/** @param {import('../base/home').Home} home @param {string} name @returns {string[]} data of it that are not its volume */
const asideOf = ({ volumes }, name) => [...volumesAside(volumes, name), ...removedData(volumes, name)];

/** @param {import('../base/home').Home} home @param {string} name */
function deleteAside(home, name) {
  for (const folder of asideOf(home, name)) fs.rmSync(folder, { recursive: true, force: true });
  removeOldFlow(home, name);
}

/**
 * @param {import('../base/home').Home} home
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec} spec
 * @param {boolean} hasData false: what a restore set aside stays, too
 * @returns {string[]} parts of a sentence: what of the tenant's data no removal deletes
 */
function restOf(home, spec, hasData) {
  const { name } = spec;
  const aside = hasData ? [] : asideOf(home, name);
  let [to, count] = ['', 0];
  try {
    ({ to } = readSettings(home.folder, home.backups));
    count = listBackups(to, name).length;
  } catch {
    // Backups that cannot be listed keep no tenant from its removal.
  }
  return [
    ...(spec.driver === 'kubernetes' ? [`the volume claim data-${objectName(spec)}-0 of its cluster`] : []),
    ...aside,
    ...(count > 0 ? [`${count} ${count === 1 ? 'backup' : 'backups'} in ${to}`] : [])
  ];
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'remove',
  summary: 'stops a tenant and removes it from the tenants file and the engine',
  more: `Its data stay, unless --delete-data is given. Its backups stay in any case, and so does the volume claim of a tenant of the
driver kubernetes. The command says what stays. Of a tenant that a page or the API has removed, --delete-data deletes the data.`,
  usage: 'NAME [options]',
  options: { 'delete-data': { type: 'boolean', help: 'delete its data, too, and what was set aside' } },
  async run({ values, operands, home, isJson, print, note, driver }) {
    const [name] = operands;
    const hasData = Boolean(values['delete-data']);
    const isRemoved = hasData && !readTenants(home.file).some((each) => each.name === name);
    if (isRemoved && removedData(home.volumes, name).length > 0) {
      const rest = removedData(home.volumes, name);
      deleteAside(home, name);
      return print(isJson ? JSON.stringify({ removed: name, deleted: rest }) : `deleted ${rest.join(', ')}`);
    }
    const spec = tenantOf(home, name);
    const engine = driver(spec.driver);
    // Without its engine, its container would stay, and no command would know it.
    await engine.check();
    const rest = restOf(home, spec, hasData);
    /** @type {any[]} */
    let removed = [];
    changeTenants(home.file, (tenants) => {
      removed = tenants.filter((each) => each.name === name);
      return tenants.filter((each) => each.name !== name);
    });
    try {
      await notifyKeeper(home.socket, note);
      await engine.stop(spec, GRACE_MS);
      await engine.remove(spec, { hasData });
      if (hasData) deleteAside(home, name);
    } catch (error) {
      // The command can be repeated.
      changeTenants(home.file, (tenants) => [...tenants, ...removed]);
      // Otherwise the keeper would not watch a tenant that may still run.
      await notifyKeeper(home.socket, note).catch(({ message }) => note(message));
      throw error;
    }
    // The cluster keeps the data of a tenant of its own.
    const isDeleted = hasData && spec.driver !== 'kubernetes';
    const data = isDeleted ? 'deleted' : 'kept';
    if (isJson) return print(JSON.stringify({ removed: name, data, rest }));
    const more = rest.length > 0 ? `; what stays: ${rest.join(', ')}` : '';
    print(`removed ${name}; its data are ${data}${more}`);
  }
};
