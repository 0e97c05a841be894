// Package storetest opens stores for the tests of all packages, with both engines.
//
// [Each] runs a test once with SQLite in a temporary folder and once with PostgreSQL:
//
//	func TestWrite(t *testing.T) {
//		storetest.Each(t, func(t *testing.T, e storetest.Engine) {
//			db := e.Open(t) // a store of its own, closed and removed with the test
//			...
//		})
//	}
//
// and [Main] is what such a package's TestMain calls.
//
// The PostgreSQL server is that of the environment variable REVERIE_TEST_DSN, or else one
// of the test binary's own, made of the programs found in PATH or where Debian puts them
// and stopped when the binary ends, however it ends. Where there is neither, the tests
// with PostgreSQL are skipped and say so.
package storetest
