// Package mirror keeps a copy of the vectors of the serving space in a Chroma server, for
// those who want an index outside of the process.
//
// The copy is derived: SQL is the truth, a write of a memory does nothing for the mirror
// and never waits for it. What is still to be sent is not recorded anywhere, it follows
// from versions: every change of a partition raises its version and gives the changed rows
// that number, and the table outbox says up to which version a partition was delivered. A
// [Mirror] finds the partitions that are ahead, sends the rows newer than what was
// delivered, and notes the version. Everything it sends may be sent again, so a process
// that is killed anywhere costs only repeated work; writes of processes that know nothing
// of the mirror are delivered as well.
//
// One process delivers at a time (a lease), the others look on and take over.
//
// Partitions are spread over a fixed number of collections, named NAME_s<space>_b<nn>: one
// collection a person would cost the server megabytes for each, one for all makes filtered
// queries slow. A record is one passage: its id is the memory's, with #1, #2 ... behind it
// from the second on. It carries the partition, the memory and whether that is private,
// and no text unless asked for. Vectors have length 1, so the server's squared L2 is 2-2cos.
//
// Where to look: mirror.go has the life of a Mirror, outbox.go what SQL knows, layout.go
// the collections as they should be and as they are, session.go the work under the lease,
// deliver.go what is to be sent, send.go the sending, aside.go what a server refuses,
// nearest.go searching, status.go, rebuild.go and verify.go what an operator asks for.
//
// What does not live here: the protocol (package vector/chroma), and search that users see
// (package vector), which must answer without the server too.
package mirror
