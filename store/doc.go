// Package store opens the SQL database that is the truth about memories, memos and the
// journal, and gives the transactions in which they change.
//
// What lives here: opening SQLite with the settings that durability and several processes
// need, or PostgreSQL for several servers; the frozen migrations; partition versions;
// leases; the meaning of the engines' error codes; integrity check and salvage. What does
// not: any table's rules. The domain packages (memo, vector) write their own SQL inside
// [DB.Write] and [DB.Read]; package journal records their changes. Package storetest opens
// both engines for tests, package backup puts a whole home into a file.
//
// # Engines
//
// What differs between SQLite and PostgreSQL is behind one small interface (engine.go),
// and each engine has its files: sqlite*.go and postgres*.go. Statements that both take
// have truth values as 0 and 1 and no scalar MAX; they may use json_valid, json_extract
// and json_each, which the schema for PostgreSQL defines, on text.
//
// With PostgreSQL several changes run at once: those of one partition wait for one another
// on its row, an exclusive one waits for all. A connection that breaks is replaced within
// the busy timeout: a read or a change that was not yet stored runs again. Where the
// answer to a COMMIT is lost, a row of the table writers, changed in the same transaction,
// tells whether it was stored (postgres_doubt.go); only a server that stays away leaves
// that open ([ErrInDoubt]). Leases go by the server's clock.
//
// # Versions
//
// Every partition has a counter that [DB.Write] raises in the transaction of the change,
// so that whoever keeps a cache, in this process or another one, compares one number
// ([DB.Version]) to know whether the cache still holds. The new number is in [Tx.Version];
// rows carry it as their rev, so a cache can fetch only what changed.
//
// # Durability
//
// SQLite runs in WAL mode with synchronous=FULL: what Write has returned nil for survives
// a killed process and a power cut. Writers in one process queue for one connection,
// writers of several processes wait for each other up to the busy timeout. Readers never
// wait.
//
// # Holding a home
//
// Everyone who has a database open holds the lock file beside it shared; one who replaces
// the file ([Salvage], or the restoring of a backup under [LockHome]) holds it alone. With
// PostgreSQL the lock covers what else is in the home. Never open a database file in
// another way in a process that has it open: closing any descriptor of it drops SQLite's
// POSIX locks.
//
// # Damage
//
// This is about SQLite; a PostgreSQL database is restored from a backup. Rows and journal
// back each other up. [Check] reads everything and changes nothing. [Salvage] trusts
// neither the file's trees nor its header: it decodes every page by itself (pages.go,
// record.go), knows a table's rows by their shape (tables.go), makes anew from the journal
// what is missing (rebuild.go) and replaces the file in one step that an interrupted
// repair or the next Open finishes (replace.go).
package store
