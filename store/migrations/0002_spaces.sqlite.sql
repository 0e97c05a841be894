-- Which embedding space answers searches: one row, so that the switch to another space
-- is one change. generation rises with everything that makes what caches hold
-- untrue as a whole: a switch, a restored backup, moved partitions.
CREATE TABLE serving (
  one        INTEGER PRIMARY KEY,
  space      INTEGER NOT NULL,              -- 0: none yet
  generation INTEGER NOT NULL
);
INSERT INTO serving (one, space, generation)
  SELECT 1, COALESCE((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'space'), 0), 1;
DELETE FROM meta WHERE name = 'space';

-- The vectors of a few fixed sentences in a space, by which a model that was exchanged
-- behind its name is noticed.
CREATE TABLE canaries (
  space      INTEGER PRIMARY KEY,
  emb        BLOB    NOT NULL,
  checked_at INTEGER NOT NULL
);

-- Work that one process at a time may do, until when, and who does it.
CREATE TABLE leases (
  name       TEXT PRIMARY KEY,
  holder     TEXT    NOT NULL,
  note       TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
);

-- How far a partition's changes have been delivered to the vector database outside, as
-- the version of the partition: what is newer is still to be sent.
CREATE TABLE outbox (
  space   INTEGER NOT NULL,
  part    TEXT    NOT NULL,
  version INTEGER NOT NULL
);
CREATE UNIQUE INDEX outbox_of ON outbox (space, part);
