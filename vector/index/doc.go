// Package index is the memory-resident index of one partition: which of its
// memories answer a question best.
//
// A [Partition] holds, for every memory, its words as an inverted index, its
// vectors in int8, and the few facts that filters ask for ([Meta]); not its
// text. A search scores every memory that passes the filter by words (BM25),
// by parts of words (BM25 over four-letter runs) and by meaning (cosine of the
// best passage), brings the three on one scale and adds them. The filter comes
// first: what it drops has no influence, except that how rare a word is, and
// how long a usual memory, are counted over the whole partition.
//
// A partition is built from scratch or changed memory by memory; either way
// gives the same answers. It knows nothing of SQL, of owners, or of how vectors
// are made: that is package vector, which keeps partitions in a cache bounded
// by [Partition.Bytes]. Cutting text into words is internal/lexical.
package index
