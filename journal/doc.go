// Package journal keeps the append-only record of every change: who changed what,
// when, on whose behalf, and what stood there before and after.
//
// A domain package calls [Append] inside the transaction of its change, so that a row
// and its entry are stored together or not at all. [History] reads back the entries of
// one object. Undoing is the business of the package that owns the object; the journal
// gives it the states to go back to.
package journal
