// Package store opens the SQL database that is the truth about memories, memos and
// the journal, and gives the transactions in which they change.
//
// What lives here: opening SQLite with the settings that durability and several
// processes need, the frozen migrations, partition versions, the meaning of the
// engine's error codes, integrity check and salvage. What does not: any table's rules.
// The domain packages (memo, vector) write their own SQL inside [DB.Write] and
// [DB.Read]; package journal records their changes.
//
// # Versions
//
// Every partition has a counter that [DB.Write] raises in the transaction of the
// change, so that whoever keeps a cache, in this process or another one, compares
// one number ([DB.Version]) to know whether the cache still holds. The new number is
// in [Tx.Version]; rows carry it as their rev, so a cache can fetch only what changed.
//
// # Durability
//
// WAL with synchronous=FULL: what Write has returned nil for survives a killed
// process and a power cut. Writers in one process queue for one connection, writers
// of several processes wait for each other up to the busy timeout. Readers never wait.
package store
