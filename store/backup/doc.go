// Package backup writes everything that a home holds into one file, and reads it back.
//
// # The file
//
// A backup is a zip in the folder backups of the home:
//
//	tables/NAME.jsonl  the rows of a table: a line with the names of the columns, then
//	                   one JSON array a row, in the order of the primary key
//	files/PATH         the files that people write: settings, prompts, notes, knowledge
//	manifest.json      what is in it: versions, counts, the SHA-256 of each member
//	manifest.sha256    the SHA-256 of manifest.json
//
// All rows are of one snapshot. A backup of SQLite restores into PostgreSQL and the
// other way round. Not in it: the file .env, which holds keys, and what is true only for
// the moment (leases, deliveries to a vector database outside).
//
// # What it promises
//
// [Create] gives a file its name only when it is whole and on the disk. [Verify] reads
// all of it and believes none of it. [Restore] first makes a backup of what is there. A
// replacing restore is one transaction for the rows and a list of renames for the
// files that [Finish] completes if the process was killed between the two: all old, or
// all new. A merging one goes through the rules of the packages that own the data ([Domain]),
// partition by partition, and can be repeated.
//
// Running servers notice: versions of partitions rise, never fall, and a new generation
// of the store begins (package store).
//
// What does not live here: what a memory or a memo is (packages vector and memo), and
// how a restore looks to a person (package cli).
package backup
