-- Times are microseconds since 1970 UTC; 0 means "never".

-- One row of facts about the whole store.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
);

-- A person's or a group's share of the store. version rises with every change of
-- anything in it; live counts its live memories.
CREATE TABLE partitions (
  key     TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  live    INTEGER NOT NULL DEFAULT 0
);

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
CREATE INDEX memories_by_rev ON memories (part, rev);
CREATE INDEX memories_by_time ON memories (part, state, created_at, rid);
-- A private memory may stand beside a public one of the same content: whoever says in a
-- group what they once kept private must not learn there that it was.
CREATE UNIQUE INDEX memories_content ON memories (part, hash, private) WHERE state = 'live';

-- An embedding space: vectors of different spaces are never compared.
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
CREATE UNIQUE INDEX spaces_identity ON spaces (fingerprint, dim, version);

-- The passages of one memory in one space, packed in one value.
CREATE TABLE vectors (
  rid   INTEGER NOT NULL,
  space INTEGER NOT NULL,
  emb   BLOB    NOT NULL
);
CREATE UNIQUE INDEX vectors_of ON vectors (rid, space);

-- Live memories that still wait for their vector in a space.
CREATE TABLE pending (
  rid   INTEGER NOT NULL,
  space INTEGER NOT NULL
);
CREATE UNIQUE INDEX pending_of ON pending (space, rid);

CREATE TABLE memos (
  part       TEXT PRIMARY KEY,
  content    TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT    NOT NULL DEFAULT ''
);

-- Every change, append-only, with what stood before and after it as JSON.
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
CREATE INDEX journal_object ON journal (part, kind, object, seq);
CREATE INDEX journal_run ON journal (run, seq) WHERE run <> '';
