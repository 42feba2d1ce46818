'use strict';
// Operations on groups of users, on invitations to them, and on devices that are shared with them.
//
// The table `share` has the rights that a user has at a device, from whatever reason. Its rows are made from those of
// direct_share, and from the members of the groups with which the device is shared: see settle().

/** @typedef {import('./accounts').Transaction} Transaction */
/** @typedef {{ gid: string, name: string, uid: string, members: string[], devices: { di: string, rights: string }[] }} Group uid: the owner */
/** @typedef {{ gid: string, name: string, uid: string, inviter: string, expires: number }} Invitation uid: who is invited */
/** @typedef {{ members: number, groups: number }} Most members of a group; groups of a user */
/** @typedef {{ problem: string, devices: string[] }} Outcome problem: '' = done; devices: those whose rights changed */

/** @param {string} problem @returns {Outcome} */
const failed = (problem) => ({ problem, devices: [] });

/** Makes the rows of a device in `share` from their reasons. @param {Transaction} tx @param {string} di */
async function settle(tx, di) {
  await tx.run('DELETE FROM share WHERE di = $1', di);
  await tx.run(
    'INSERT INTO share (di, uid, rights) SELECT di, uid, rights FROM direct_share WHERE di = $1',
    di
  );
  // CROSS JOIN keeps the order of the tables, as in findSql(). The greatest of r and rw is rw.
  await tx.run(
    `INSERT INTO share (di, uid, rights)
     SELECT g.di, m.uid, max(g.rights) FROM group_device AS g CROSS JOIN group_member AS m CROSS JOIN device AS d
     WHERE g.di = $1 AND m.gid = g.gid AND d.di = g.di AND m.uid <> d.uid GROUP BY g.di, m.uid
     ON CONFLICT (di, uid) DO UPDATE SET rights = CASE WHEN excluded.rights = 'rw' THEN 'rw' ELSE share.rights END`,
    di
  );
}

/** @param {Transaction} tx @param {string} sql @param {...import('./accounts').Value} values */
async function count(tx, sql, ...values) {
  return Number((await tx.get(`SELECT count(*) AS n FROM ${sql}`, ...values))?.n);
}

/** @param {Transaction} tx @param {string} gid @param {string} uid */
async function isMember(tx, gid, uid) {
  return (await count(tx, 'group_member WHERE gid = $1 AND uid = $2', gid, uid)) > 0;
}

/**
 * Finds a group. It exists only for its members, and for the administrator, who has no uid.
 * @param {Transaction} tx
 * @param {string} gid
 * @param {string} [uid]
 */
async function groupFor(tx, gid, uid) {
  const group = await tx.get('SELECT uid, name FROM user_group WHERE gid = $1', gid);
  if (!group || (uid !== undefined && !(await isMember(tx, gid, uid)))) return null;
  return { owner: /** @type {string} */ (group.uid), mayManage: uid === undefined || group.uid === uid };
}

/** @param {Transaction} tx @param {string} gid @returns {Promise<string[]>} */
async function devicesOf(tx, gid) {
  return (await tx.all('SELECT di FROM group_device WHERE gid = $1', gid)).map(({ di }) => di);
}

/**
 * Makes a group, with its owner as the first member.
 * @param {Transaction} tx
 * @param {{ gid: string, uid: string, name: string, now: number, most: Most }} input
 * @returns {Promise<'' | 'user' | 'full'>} what is wrong
 */
async function createGroup(tx, { gid, uid, name, now, most }) {
  if (!(await tx.get('SELECT uid FROM account WHERE uid = $1', uid))) return 'user';
  if ((await count(tx, 'group_member WHERE uid = $1', uid)) >= most.groups) return 'full';
  await tx.run(
    'INSERT INTO user_group (gid, uid, name, created) VALUES ($1, $2, $3, $4)',
    ...[gid, uid, name, now]
  );
  await tx.run('INSERT INTO group_member (gid, uid) VALUES ($1, $2)', gid, uid);
  return '';
}

/**
 * @param {Transaction} tx
 * @param {{ gid: string, uid?: string }} input uid: missing for the administrator
 * @returns {Promise<Outcome>} problem: `group` if there is none for the user, `owner` if the user does not own it
 */
async function removeGroup(tx, { gid, uid }) {
  const group = await groupFor(tx, gid, uid);
  if (!group) return failed('group');
  if (!group.mayManage) return failed('owner');
  const devices = await devicesOf(tx, gid);
  for (const table of ['group_device', 'group_member', 'group_invitation', 'user_group']) {
    await tx.run(`DELETE FROM ${table} WHERE gid = $1`, gid);
  }
  for (const di of devices) await settle(tx, di);
  return { problem: '', devices };
}

/**
 * Shares devices with a group, or ends that. All of them, or none.
 * @param {Transaction} tx
 * @param {{ gid: string, uid?: string, dis: string[], rights: '' | 'r' | 'rw', most: number }} input most: devices of
 *   the group; uid: missing for the administrator
 * @returns {Promise<Outcome>} problem: `group` if there is none for the user, `device` if one is unknown or of another
 *   user, `member` if its owner is no member, `full`
 */
async function shareWithGroup(tx, { gid, uid, dis, rights, most }) {
  if (!(await groupFor(tx, gid, uid))) return failed('group');
  let others = await count(tx, 'group_device WHERE gid = $1', gid);
  for (const di of dis) {
    const device = await tx.get('SELECT uid FROM device WHERE di = $1', di);
    if (!device || (uid !== undefined && device.uid !== uid)) return failed('device');
    if (!(await isMember(tx, gid, device.uid))) return failed('member');
    others -= await count(tx, 'group_device WHERE gid = $1 AND di = $2', gid, di);
  }
  if (rights && others + dis.length > most) return failed('full');
  for (const di of dis) {
    await tx.run('DELETE FROM group_device WHERE gid = $1 AND di = $2', gid, di);
    if (rights) {
      await tx.run('INSERT INTO group_device (gid, di, rights) VALUES ($1, $2, $3)', gid, di, rights);
    }
    await settle(tx, di);
  }
  return { problem: '', devices: dis };
}

/**
 * Invites a user, who need not exist: the answer must not show who does.
 * @param {Transaction} tx
 * @param {{ gid: string, uid: string, mid: string, now: number, expires: number,
 *   most: { open: number, received: number } }} input uid: a member; mid: who is invited; most: invitations of a group,
 *   and of a user
 * @returns {Promise<'' | 'group' | 'member' | 'full'>} what is wrong
 */
async function invite(tx, { gid, uid, mid, now, expires, most }) {
  if (!(await groupFor(tx, gid, uid))) return 'group';
  if (await isMember(tx, gid, mid)) return 'member';
  const open = await count(
    tx,
    'group_invitation WHERE gid = $1 AND uid <> $2 AND expires > $3',
    ...[gid, mid, now]
  );
  const received = await count(
    tx,
    'group_invitation WHERE uid = $1 AND gid <> $2 AND expires > $3',
    ...[mid, gid, now]
  );
  if (open >= most.open || received >= most.received) return 'full';
  await tx.run(
    `INSERT INTO group_invitation (gid, uid, inviter, expires) VALUES ($1, $2, $3, $4)
     ON CONFLICT (gid, uid) DO UPDATE SET inviter = excluded.inviter, expires = excluded.expires`,
    ...[gid, mid, uid, expires]
  );
  return '';
}

/**
 * Accepts an invitation.
 * @param {Transaction} tx
 * @param {{ gid: string, uid: string, now: number, most: Most }} input
 * @returns {Promise<Outcome>} problem: `invitation` if there is none, `full`
 */
async function acceptInvitation(tx, { gid, uid, now, most }) {
  const sql = 'SELECT expires FROM group_invitation WHERE gid = $1 AND uid = $2';
  const found = await tx.get(sql, gid, uid);
  if (!found || Number(found.expires) <= now) return failed('invitation');
  return join(tx, gid, uid, most);
}

/**
 * Adds a user to a group, for the administrator.
 * @param {Transaction} tx
 * @param {{ gid: string, mid: string, most: Most }} input
 * @returns {Promise<Outcome>} problem: `group`, `user`, `member` if the user is one already, `full`
 */
async function addMember(tx, { gid, mid, most }) {
  if (!(await groupFor(tx, gid))) return failed('group');
  if (!(await tx.get('SELECT uid FROM account WHERE uid = $1', mid))) return failed('user');
  if (await isMember(tx, gid, mid)) return failed('member');
  return join(tx, gid, mid, most);
}

/** @param {Transaction} tx @param {string} gid @param {string} uid @param {Most} most @returns {Promise<Outcome>} */
async function join(tx, gid, uid, most) {
  if ((await count(tx, 'group_member WHERE gid = $1', gid)) >= most.members) return failed('full');
  if ((await count(tx, 'group_member WHERE uid = $1', uid)) >= most.groups) return failed('full');
  await tx.run('INSERT INTO group_member (gid, uid) VALUES ($1, $2)', gid, uid);
  await tx.run('DELETE FROM group_invitation WHERE gid = $1 AND uid = $2', gid, uid);
  const devices = await devicesOf(tx, gid);
  for (const di of devices) await settle(tx, di);
  return { problem: '', devices };
}

/**
 * Deletes an invitation: the invited user declines it, or the inviter or the group's owner withdraws it.
 * @param {Transaction} tx
 * @param {{ gid: string, uid: string, mid: string }} input uid: who does it; mid: who is invited
 * @returns {Promise<boolean>} false: there is none that the user may delete
 */
async function removeInvitation(tx, { gid, uid, mid }) {
  const found = await tx.get('SELECT inviter FROM group_invitation WHERE gid = $1 AND uid = $2', gid, mid);
  if (!found) return false;
  if (uid !== mid && uid !== found.inviter && !(await groupFor(tx, gid, uid))?.mayManage) return false;
  await tx.run('DELETE FROM group_invitation WHERE gid = $1 AND uid = $2', gid, mid);
  return true;
}

/**
 * Removes a member with the devices that the member shares and the invitations that the member sent: members leave,
 * and the owner removes others.
 * @param {Transaction} tx
 * @param {{ gid: string, uid?: string, mid: string }} input uid: who does it, missing for the administrator
 * @returns {Promise<Outcome>} problem: `group` if there is none for the user, `owner` if only the owner may do it,
 *   `last` if the member owns the group, which can only be deleted, `member` if the user is none
 */
async function removeMember(tx, { gid, uid, mid }) {
  const group = await groupFor(tx, gid, uid);
  if (!group) return failed('group');
  if (uid !== mid && !group.mayManage) return failed('owner');
  if (mid === group.owner) return failed('last');
  const devices = await devicesOf(tx, gid);
  const sql = 'DELETE FROM group_member WHERE gid = $1 AND uid = $2';
  if ((await tx.run(sql, gid, mid)) === 0) return failed('member');
  await tx.run('DELETE FROM group_invitation WHERE gid = $1 AND inviter = $2', gid, mid);
  for (const di of devices) {
    const device = await tx.get('SELECT uid FROM device WHERE di = $1', di);
    if (device?.uid === mid) await tx.run('DELETE FROM group_device WHERE gid = $1 AND di = $2', gid, di);
    await settle(tx, di);
  }
  return { problem: '', devices };
}

/**
 * Deletes what groups have of a user. REQUIRES: the devices of the user are deleted.
 * @param {Transaction} tx
 * @param {string} uid
 */
async function removeUserOfGroups(tx, uid) {
  const own = await tx.all('SELECT gid FROM user_group WHERE uid = $1', uid);
  for (const { gid } of own) await removeGroup(tx, { gid });
  await tx.run('DELETE FROM group_member WHERE uid = $1', uid);
  await tx.run('DELETE FROM group_invitation WHERE uid = $1', uid);
  await tx.run('DELETE FROM group_invitation WHERE inviter = $1', uid);
}

/** @param {Transaction} tx @param {{ now: number }} input @returns {Promise<boolean>} true if any was deleted */
async function removeOldInvitations(tx, { now }) {
  return (await tx.run('DELETE FROM group_invitation WHERE expires <= $1', now)) > 0;
}

/**
 * Returns the groups that have the user as a member, by name.
 * @param {Transaction} tx
 * @param {{ uid?: string }} input all groups without it
 * @returns {Promise<Group[]>}
 */
async function groups(tx, { uid }) {
  const rows = uid
    ? await tx.all(
        `SELECT g.gid, g.uid, g.name FROM group_member AS m CROSS JOIN user_group AS g
         WHERE m.uid = $1 AND g.gid = m.gid ORDER BY g.name, g.gid`,
        uid
      )
    : await tx.all('SELECT gid, uid, name FROM user_group ORDER BY name, gid');
  const found = [];
  for (const { gid, uid: owner, name } of rows) {
    const members = await tx.all('SELECT uid FROM group_member WHERE gid = $1 ORDER BY uid', gid);
    const devices = await tx.all('SELECT di, rights FROM group_device WHERE gid = $1 ORDER BY di', gid);
    found.push({
      gid,
      name,
      uid: owner,
      members: members.map((row) => row.uid),
      devices: devices.map(({ di, rights }) => ({ di, rights }))
    });
  }
  return found;
}

/**
 * Returns the open invitations that a user received and sent, the oldest first.
 * @param {Transaction} tx
 * @param {{ uid: string, now: number }} input
 * @returns {Promise<{ received: Invitation[], sent: Invitation[] }>}
 */
async function invitations(tx, { uid, now }) {
  const find = async (/** @type {'uid' | 'inviter'} */ column) => {
    const rows = await tx.all(
      `SELECT i.gid, g.name, i.uid, i.inviter, i.expires FROM group_invitation AS i CROSS JOIN user_group AS g
       WHERE i.${column} = $1 AND i.expires > $2 AND g.gid = i.gid ORDER BY i.expires, i.gid, i.uid`,
      uid,
      now
    );
    return /** @type {Invitation[]} */ (rows.map((row) => ({ ...row, expires: Number(row.expires) })));
  };
  return { received: await find('uid'), sent: await find('inviter') };
}

module.exports = {
  settle,
  createGroup,
  removeGroup,
  shareWithGroup,
  invite,
  acceptInvitation,
  addMember,
  removeInvitation,
  removeMember,
  removeUserOfGroups,
  removeOldInvitations,
  groups,
  invitations
};
