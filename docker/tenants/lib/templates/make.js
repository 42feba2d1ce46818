'use strict';
// Makes a tenant of a template: for the command, and, within narrower limits, for the keeper's socket.

const fs = require('node:fs');
const path = require('node:path');
const { TenantError, messageOf } = require('../base/errors');
const { MAX_TENANTS, checkTenant } = require('../../../../nodes/lib/tenants/file/schema');
const { changeTenants, readFile } = require('../file/tenants-file');
const { hold } = require('../life/hold');
const { filesOf, keepFlow, putFlow } = require('./flow');

const MIB = 2 ** 20;

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Template} Template */
/**
 * @typedef {object} Around
 * @property {import('../base/home').Home} home
 * @property {(name: string) => import('../drivers/driver').Driver} driver
 */

/** @param {Template[]} templates @param {string} name @returns {Template} */
function templateOf(templates, name) {
  const template = templates.find((each) => each.name === name);
  if (template) return template;
  const names = templates.map((each) => each.name).join(', ');
  throw new TenantError(
    'unknown',
    `There is no template '${name.slice(0, 64)}'. ${names ? `There are: ${names}.` : 'Add one with "seganet-tenants template add".'}`
  );
}

/**
 * @param {{ name: string, template?: string, byApi?: boolean }[]} tenants of the file
 * @param {Template} template
 * @param {{ name: string, byApi: boolean }} wanted
 * @throws {TenantError} if the file does not allow it
 */
function refuse(tenants, { name: template, most }, { name, byApi }) {
  if (tenants.some((each) => each.name === name))
    throw new TenantError('taken', `There is a tenant '${name}' already.`);
  if (tenants.length >= MAX_TENANTS)
    throw new TenantError('limit', `There are ${MAX_TENANTS} tenants, which is the most.`);
  const made = tenants.filter((each) => each.byApi && each.template === template).length;
  if (!byApi || made < most) return;
  throw new TenantError(
    'limit',
    most === 0
      ? `Only the command makes tenants of ${template}: seganet-tenants add ${name} --template ${template}`
      : `${template} has ${made} tenants that were made here, and may have ${most}. Remove one, or let the operator of the machine raise "most".`
  );
}

/**
 * Refuses what the socket may not do although the tenants file allows it: take over the data of an earlier tenant, or
 * fill the disk.
 * @param {import('../base/home').Home} home
 * @param {Template} template
 * @param {string} name
 */
async function refuseDisk({ volumes }, { spec }, name) {
  if (fs.existsSync(path.join(volumes, name)))
    throw new TenantError(
      'taken',
      `There are data of an earlier tenant '${name}'. Choose another name; only the command adds that one again.`
    );
  const { bavail, bsize } = await fs.promises.statfs(volumes);
  const free = Math.floor((bavail * bsize) / MIB);
  if (free < spec.limits.volumeMiB)
    throw new TenantError(
      'full',
      `The disk has ${free} MiB free, and a tenant of ${spec.name} may need ${spec.limits.volumeMiB} MiB (volumeMiB).`
    );
}

/**
 * Makes the volume with the flow, and what the tenant's engine needs, and then the entry in the tenants file.
 * @param {Around} around
 * @param {{ name: string, template: string, byApi: boolean }} wanted
 * @returns {Promise<Record<string, unknown>>} the entry
 * @throws {Error} nothing is left then
 */
async function makeTenant({ home, driver }, { name, template: wanted, byApi }) {
  const { tenants, templates } = readFile(home.file);
  const template = templateOf(templates, wanted);
  const entry = { name, ...template.entry, template: template.name, ...(byApi && { byApi }) };
  const spec = specOf(entry);
  refuse(tenants, template, { name, byApi });
  if (byApi) await refuseDisk(home, template, name);
  const release = hold(home.state, name);
  const isNew = !fs.existsSync(path.join(home.volumes, name));
  const engine = driver(spec.driver);
  const isHere = spec.driver !== 'kubernetes';
  try {
    const files = template.flow && isNew ? filesOf(template.flow) : null;
    // What a cluster needs is its operator's, who needs the entry first (manifest).
    if (isHere) await engine.create(spec);
    if (files) {
      putFlow(home, name, files);
      keepFlow(home, name);
    }
    changeTenants(home.file, (entries) => {
      refuse(entries, template, { name, byApi });
      return [...entries, entry];
    });
  } catch (error) {
    const isOther = error instanceof TenantError && error.code === 'taken';
    if (isHere && !isOther) await engine.remove(spec, { hasData: isNew }).catch(() => {});
    throw error;
  } finally {
    release();
  }
  return entry;
}

/** @param {object} entry @returns {import('../../../../nodes/lib/tenants/file/schema').Spec} */
function specOf(entry) {
  try {
    return checkTenant(entry);
  } catch (error) {
    throw new TenantError('invalid', messageOf(error));
  }
}

module.exports = { makeTenant, templateOf };
