index journal_object
CREATE INDEX journal_object ON journal (part, kind, object, seq);
index journal_run
CREATE INDEX journal_run ON journal (run, seq) WHERE run <> '';
index memories_by_rev
CREATE INDEX memories_by_rev ON memories (part, rev);
index memories_by_time
CREATE INDEX memories_by_time ON memories (part, state, created_at, rid);
index memories_content
CREATE UNIQUE INDEX memories_content ON memories (part, hash, private) WHERE state = 'live';
index outbox_of
CREATE UNIQUE INDEX outbox_of ON outbox (space, part);
index pending_of
CREATE UNIQUE INDEX pending_of ON pending (space, rid);
index spaces_identity
CREATE UNIQUE INDEX spaces_identity ON spaces (fingerprint, dim, version);
index sqlite_autoindex_leases_1
;
index sqlite_autoindex_memories_1
;
index sqlite_autoindex_memos_1
;
index sqlite_autoindex_meta_1
;
index sqlite_autoindex_migrations_1
;
index sqlite_autoindex_partitions_1
;
index vectors_of
CREATE UNIQUE INDEX vectors_of ON vectors (rid, space);
table canaries
CREATE TABLE canaries (
  space      INTEGER PRIMARY KEY,
  emb        BLOB    NOT NULL,
  checked_at INTEGER NOT NULL
);
table journal
CREATE TABLE journal (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  part         TEXT    NOT NULL,
  version      INTEGER NOT NULL,               -- partition version after the change
  at           INTEGER NOT NULL,
  actor        TEXT    NOT NULL DEFAULT '',
  role         TEXT    NOT NULL DEFAULT '',
  source       TEXT    NOT NULL DEFAULT '',
  conversation TEXT    NOT NULL DEFAULT '',
  run          TEXT    NOT NULL DEFAULT '',
  kind         TEXT    NOT NULL,
  object       TEXT    NOT NULL,
  action       TEXT    NOT NULL,
  before       TEXT,
  after        TEXT
);
table leases
CREATE TABLE leases (
  name       TEXT PRIMARY KEY,
  holder     TEXT    NOT NULL,
  note       TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
);
table memories
CREATE TABLE memories (
  rid           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT    NOT NULL UNIQUE,
  part          TEXT    NOT NULL,
  rev           INTEGER NOT NULL,              -- partition version of the last change
  state         TEXT    NOT NULL,              -- live, archived, superseded, deleted
  scope         TEXT    NOT NULL,
  content       TEXT    NOT NULL,
  hash          BLOB    NOT NULL,              -- of the content, white space folded
  tags          TEXT    NOT NULL DEFAULT '[]', -- JSON array of strings
  importance    TEXT    NOT NULL,
  private       INTEGER NOT NULL DEFAULT 0,
  said_by       TEXT    NOT NULL DEFAULT '',
  source        TEXT    NOT NULL,
  conversation  TEXT    NOT NULL DEFAULT '',
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  event_time    INTEGER NOT NULL DEFAULT 0,
  superseded_by TEXT    NOT NULL DEFAULT '',
  archived_at   INTEGER NOT NULL DEFAULT 0,
  deleted_at    INTEGER NOT NULL DEFAULT 0,
  used_at       INTEGER NOT NULL DEFAULT 0,
  seen          INTEGER NOT NULL DEFAULT 1
);
table memos
CREATE TABLE memos (
  part       TEXT PRIMARY KEY,
  content    TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT    NOT NULL DEFAULT ''
);
table meta
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
);
table migrations
CREATE TABLE `migrations` (`id` text,PRIMARY KEY (`id`));
table outbox
CREATE TABLE outbox (
  space   INTEGER NOT NULL,
  part    TEXT    NOT NULL,
  version INTEGER NOT NULL
);
table partitions
CREATE TABLE partitions (
  key     TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  live    INTEGER NOT NULL DEFAULT 0
);
table pending
CREATE TABLE pending (
  rid   INTEGER NOT NULL,
  space INTEGER NOT NULL
);
table serving
CREATE TABLE serving (
  one        INTEGER PRIMARY KEY,
  space      INTEGER NOT NULL,              -- 0: none yet
  generation INTEGER NOT NULL
);
table spaces
CREATE TABLE spaces (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint TEXT    NOT NULL,
  protocol    TEXT    NOT NULL,
  model       TEXT    NOT NULL,
  base_url    TEXT    NOT NULL DEFAULT '',
  dim         INTEGER NOT NULL,
  version     TEXT    NOT NULL DEFAULT '',
  state       TEXT    NOT NULL,                -- active, building, old
  created_at  INTEGER NOT NULL
);
table sqlite_sequence
CREATE TABLE sqlite_sequence(name,seq);
table vectors
CREATE TABLE vectors (
  rid   INTEGER NOT NULL,
  space INTEGER NOT NULL,
  emb   BLOB    NOT NULL
);
