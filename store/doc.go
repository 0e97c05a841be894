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
//
// # Holding a home
//
// Everyone who has a database open holds the lock file beside it shared; one who
// replaces the file ([Salvage], or the restoring of a backup under [LockHome]) holds it
// alone. Never open a database file in another way in a process that has it open:
// closing any descriptor of it drops SQLite's POSIX locks.
//
// # Damage
//
// Rows and journal back each other up. [Check] reads everything and changes nothing.
// [Salvage] trusts neither the file's trees nor its header: it decodes every page by
// itself (pages.go, record.go), knows a table's rows by their shape (tables.go), makes
// anew from the journal what is missing (rebuild.go) and replaces the file in one step
// that an interrupted repair or the next Open finishes (replace.go).
package store
