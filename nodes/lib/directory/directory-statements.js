'use strict';
// The statements of a directory's database.

/** @param {import('./directory-database').Database} db */
function prepare(db) {
  return {
    has: db.prepare('SELECT 1 FROM thing WHERE id = ?'),
    get: db.prepare('SELECT * FROM thing WHERE id = ?'),
    // BINARY compares bytes of UTF-8, which is the order of the code points.
    list: db.prepare('SELECT * FROM thing ORDER BY id LIMIT ? OFFSET ?'),
    count: db.prepare("SELECT count(*) AS total, sum(origin = 'posted') AS posted FROM thing"),
    write:
      db.prepare(`INSERT INTO thing (id, origin, source, td, facts, created, modified, ttl, expires, seen, revision)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET origin = excluded.origin,
      source = excluded.source, td = excluded.td, facts = excluded.facts, modified = excluded.modified,
      ttl = excluded.ttl, expires = excluded.expires, seen = excluded.seen, revision = excluded.revision RETURNING n`),
    delete: db.prepare('DELETE FROM thing WHERE n = ?'),
    see: db.prepare('UPDATE thing SET seen = ? WHERE id = ? AND source = ? AND seen < ?'),
    ofSource: db.prepare("SELECT n, id, origin FROM thing WHERE origin = 'made' AND source = ?"),
    expired: db.prepare('SELECT n, id, origin FROM thing WHERE expires <= ? LIMIT 1000'),
    unseen: db.prepare("SELECT n, id, origin FROM thing WHERE origin = 'made' AND seen < ? LIMIT 1000"),
    after: db.prepare('SELECT n, td, facts FROM thing WHERE n > ? ORDER BY n LIMIT 500'),
    setFacts: db.prepare('UPDATE thing SET facts = ? WHERE n = ?'),
    deleteFacts: db.prepare('DELETE FROM fact WHERE thing = ?'),
    insertFact: db.prepare('INSERT OR IGNORE INTO fact (kind, term, thing) VALUES (?, ?, ?)'),
    deleteText: db.prepare('DELETE FROM thing_text WHERE rowid = ?'),
    insertText: db.prepare('INSERT INTO thing_text (rowid, words) VALUES (?, ?)'),
    insertEvent: db.prepare('INSERT INTO event (type, thing, data) VALUES (?, ?, ?) RETURNING id'),
    pruneEvents: db.prepare('DELETE FROM event WHERE id <= ?'),
    eventsAfter: db.prepare('SELECT id, type, thing, data FROM event WHERE id > ? ORDER BY id LIMIT ?'),
    revision: db.prepare("SELECT value FROM meta WHERE name = 'revision'"),
    setRevision: db.prepare("INSERT OR REPLACE INTO meta VALUES ('revision', ?)"),
    terms: db.prepare("SELECT value FROM meta WHERE name = 'terms'"),
    setTerms: db.prepare("INSERT OR REPLACE INTO meta VALUES ('terms', ?)")
  };
}

exports.prepare = prepare;
