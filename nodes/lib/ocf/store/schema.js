'use strict';
// The tables of accounts and directories. Times are milliseconds since 1970, 0 = never. Only SHA-256 hashes of tokens
// and codes are stored.

/** "SGO1": distinguishes our database from those of other programs. */
const APPLICATION_ID = 0x53474f31;

/**
 * What each version adds to the one before it. `{bytes}` and `{keyed}` stand for what SQLite and PostgreSQL write
 * differently. A database of a later version is not changed.
 */
const VERSIONS = [
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL){keyed};
   CREATE TABLE account (uid TEXT PRIMARY KEY, issuer TEXT NOT NULL, sub TEXT NOT NULL, created BIGINT NOT NULL, UNIQUE (issuer, sub)){keyed};
   CREATE TABLE code (hash {bytes} PRIMARY KEY, uid TEXT NOT NULL, expires BIGINT NOT NULL){keyed};
   CREATE TABLE redeemed (hash {bytes} PRIMARY KEY, di TEXT NOT NULL, uid TEXT NOT NULL, expires BIGINT NOT NULL){keyed};
   CREATE INDEX redeemed_device ON redeemed (di);
   CREATE TABLE device (di TEXT PRIMARY KEY, uid TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, access {bytes}, expires BIGINT NOT NULL, refresh {bytes}, refresh_before {bytes}, before_until BIGINT NOT NULL, refreshed BIGINT NOT NULL, last_ins BIGINT NOT NULL, created BIGINT NOT NULL){keyed};
   CREATE INDEX device_user ON device (uid, di);
   CREATE TABLE spent (hash {bytes} PRIMARY KEY, di TEXT NOT NULL, at BIGINT NOT NULL){keyed};
   CREATE INDEX spent_device ON spent (di, at);
   CREATE TABLE share (di TEXT NOT NULL, uid TEXT NOT NULL, rights TEXT NOT NULL, PRIMARY KEY (di, uid)){keyed};
   CREATE INDEX share_user ON share (uid, di);
   CREATE TABLE link (di TEXT NOT NULL, href TEXT NOT NULL, ins BIGINT NOT NULL, expires BIGINT NOT NULL, shown INTEGER NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (di, href)){keyed};
   CREATE INDEX link_expires ON link (expires) WHERE expires > 0;
   CREATE TABLE link_type (rt TEXT NOT NULL, di TEXT NOT NULL, href TEXT NOT NULL, PRIMARY KEY (rt, di, href)){keyed};
   CREATE INDEX link_type_link ON link_type (di, href);`,
  `CREATE TABLE user_token (hash {bytes} PRIMARY KEY, id TEXT NOT NULL UNIQUE, uid TEXT NOT NULL, expires BIGINT NOT NULL, created BIGINT NOT NULL){keyed};
   CREATE INDEX user_token_user ON user_token (uid);
   CREATE TABLE endpoint (di TEXT PRIMARY KEY, uid TEXT NOT NULL, via TEXT NOT NULL, ep TEXT NOT NULL, base TEXT NOT NULL, lt BIGINT NOT NULL, expires BIGINT NOT NULL, attributes {bytes} NOT NULL, links {bytes} NOT NULL){keyed};
   CREATE INDEX endpoint_user ON endpoint (uid);
   CREATE INDEX endpoint_via ON endpoint (via);
   CREATE INDEX endpoint_expires ON endpoint (expires);`,
  'CREATE INDEX user_token_expires ON user_token (expires);',
  // share: the rights of users at devices, from whatever reason; direct_share: those that the owner gave to one user.
  `CREATE TABLE direct_share (di TEXT NOT NULL, uid TEXT NOT NULL, rights TEXT NOT NULL, PRIMARY KEY (di, uid)){keyed};
   CREATE INDEX direct_share_user ON direct_share (uid);
   INSERT INTO direct_share (di, uid, rights) SELECT di, uid, rights FROM share;
   CREATE TABLE user_group (gid TEXT PRIMARY KEY, uid TEXT NOT NULL, name TEXT NOT NULL, created BIGINT NOT NULL){keyed};
   CREATE INDEX user_group_user ON user_group (uid);
   CREATE TABLE group_member (gid TEXT NOT NULL, uid TEXT NOT NULL, PRIMARY KEY (gid, uid)){keyed};
   CREATE INDEX group_member_user ON group_member (uid, gid);
   CREATE TABLE group_device (gid TEXT NOT NULL, di TEXT NOT NULL, rights TEXT NOT NULL, PRIMARY KEY (gid, di)){keyed};
   CREATE INDEX group_device_device ON group_device (di, gid);
   CREATE TABLE group_invitation (gid TEXT NOT NULL, uid TEXT NOT NULL, inviter TEXT NOT NULL, expires BIGINT NOT NULL, PRIMARY KEY (gid, uid)){keyed};
   CREATE INDEX group_invitation_user ON group_invitation (uid);
   CREATE INDEX group_invitation_inviter ON group_invitation (inviter);
   CREATE INDEX group_invitation_expires ON group_invitation (expires);`,
  'CREATE TABLE provider_token (di TEXT PRIMARY KEY, sealed {bytes} NOT NULL, asked BIGINT NOT NULL, uncertain INTEGER NOT NULL){keyed};'
];

module.exports = { APPLICATION_ID, VERSIONS };
