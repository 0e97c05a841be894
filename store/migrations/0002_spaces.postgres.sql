-- Which embedding space answers searches: one row, so that the switch to another space
-- is one change. generation rises with everything that makes what caches hold
-- untrue as a whole: a switch, a restored backup, moved partitions.
CREATE TABLE serving (
  one        BIGINT PRIMARY KEY,
  space      BIGINT NOT NULL,               -- 0: none yet
  generation BIGINT NOT NULL
);
INSERT INTO serving (one, space, generation) VALUES (1, 0, 1);

-- The vectors of a few fixed sentences in a space, by which a model that was exchanged
-- behind its name is noticed.
CREATE TABLE canaries (
  space      BIGINT PRIMARY KEY,
  emb        BYTEA NOT NULL,
  checked_at BIGINT NOT NULL
);

-- Work that one process at a time may do, until when by the database's clock, and who
-- does it.
CREATE TABLE leases (
  name       TEXT COLLATE "C" PRIMARY KEY,
  holder     TEXT COLLATE "C" NOT NULL,
  note       TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL
);

-- How far a partition's changes have been delivered to the vector database outside, as
-- the version of the partition: what is newer is still to be sent.
CREATE TABLE outbox (
  space   BIGINT NOT NULL,
  part    TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL
);
CREATE UNIQUE INDEX outbox_of ON outbox (space, part);
