package index

// Meta is what filters look at. It is kept in memory for every memory, so it
// holds nothing long.
type Meta struct {
	// RID is the row id of the memory, unique in the partition.
	RID int64
	// Created and Event are Unix microseconds, UTC; Event is 0 if unknown.
	Created, Event int64
	// Conversation names the conversation the memory was made in; "" if none.
	// Memories of one conversation lend each other context.
	Conversation string
	// Tags is a set. It must not change after Put.
	Tags       []string
	Importance uint8
	Private    bool
}

// Doc is a memory as it enters a partition.
type Doc struct {
	Meta
	// SaidBy names who said it, in case the text does not begin with a name
	// and a colon. Queries that name the speaker favour the memory.
	SaidBy string
	// Text is analysed and not kept.
	Text string
	// Vectors has one vector per passage of the text. None means that the
	// vector is still pending: the memory then takes part by its words alone.
	Vectors []Vec
}

// Query asks a partition.
type Query struct {
	Text string
	// Vector is the meaning of Text, of any length but zero; nil to search by
	// words only.
	Vector []float32
	// DenseTrusted tells that the model behind the vectors understands the
	// language of Text. Otherwise meaning has
	// little say and words are compared by their parts.
	DenseTrusted bool
}

// Match tells what a hit was found by.
type Match uint8

const (
	// Words is a hit by words or parts of words alone: no vector, or one far off.
	Words Match = iota
	// Meaning is a hit that shares no word with the query.
	Meaning
	// Both is a hit by words and meaning.
	Both
)

// String gives the name clients see.
func (m Match) String() string {
	switch m {
	case Words:
		return "words"
	case Both:
		return "both"
	}
	return "meaning"
}

// Confidence tells how likely the first hits answer the query.
type Confidence uint8

// The steps of confidence. Low says that the query seems unrelated to everything kept.
const (
	Low Confidence = iota
	Medium
	High
)

// String gives "low", "medium" or "high".
func (c Confidence) String() string {
	switch c {
	case High:
		return "high"
	case Medium:
		return "medium"
	}
	return "low"
}

// Hit is a memory found.
type Hit struct {
	RID int64
	// Score is between 0 and 1 and can be compared across queries: about the
	// chance that the hit has to do with the query. It never rises down the list.
	Score float64
	// Distance is the squared Euclidean distance of the unit vectors of query
	// and best passage, 2-2cos, from 0 to 4. It is meaningless unless HasDistance; hits by words alone have none.
	Distance    float64
	HasDistance bool
	Match       Match
}

// Result is the answer to a search.
type Result struct {
	Hits []Hit
	// Considered is the number of memories that passed the filter.
	Considered int
	Confidence Confidence
}
