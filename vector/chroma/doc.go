// Package chroma speaks to a Chroma server over version 2 of its HTTP API, as far as
// Reverie needs it: collections of vectors with metadata, upsert, get, query, delete.
//
// A [Client] is made by [New], which does no I/O. A collection is found or made with
// [Client.Ensure] and then addressed by its id, which changes when someone deletes and
// makes it anew; an [*Error] for which NotFound holds says so.
//
// Records are only ever upserted: the server's "add" ignores ids that are there already
// and says nothing. Requests are cut to what the server takes. Answers are hostile input:
// their sizes are capped and their shapes checked.
//
// What does not live here: what is sent, and when (package vector/mirror), and trying
// again. Package chroma/chromatest starts a real server for tests.
package chroma
