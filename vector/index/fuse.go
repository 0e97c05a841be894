package index

import "math"

// Weights of the channels' standard scores. Where the model understands the
// language of the query, meaning leads and parts of words only help; where it
// does not, parts of words lead, since inflection is then not known either.
// The optimum is flat: neighbours differ by less than the noise of the sets
// they were chosen on.
var (
	trustedWeights   = weights{words: 0.65, letters: 0.25, meaning: 1}
	untrustedWeights = weights{words: 0.1, letters: 1, meaning: 0.3}
)

type weights struct{ words, letters, meaning float32 }

// What a channel's scores vary by is not known from a small pool, nor from the
// two or three memories that share a word with the query: a lone memory with
// some common word would stand many deviations above the rest, and nothing found
// by meaning could reach it. So every channel is measured as if the pool held a few
// memories more: such as have the query's most telling word by chance, or lie
// as far from the average in meaning as memories commonly do. In a pool of
// hundreds that hardly matters, nor does it for a query of a whole dialogue, of
// which every memory has some words. With half or twice as many, the first
// answers of the sets measured stay the same within their noise.
const (
	chanceMemories = 16
	// chanceGrams is for letters: a word in common means several runs at once.
	chanceGrams = 64
	// usualSpread is the standard deviation of the cosine of a query with the
	// memories of a pool, on the built-in model's scale.
	usualSpread = 0.1
)

// What context adds to a memory's own score. A turn of a dialogue often
// answers the one before it and names neither subject nor object. Chosen by
// leaving out one long dialogue after the other; what was best for the rest
// lifted the first five answers of the one left out by five to fourteen points.
const (
	besideShare   = 0.35 // of the memory just before and after in the conversation
	nearShare     = 0.2  // of the memories one further
	dialogueShare = 0.4  // of the best memory of the conversation
	speakerBonus  = 0.8  // if the query names who is speaking
)

// fuse brings the channels on one scale, adds them, and lends every memory
// something of its conversation.
func (s *search) fuse(p *Partition) {
	w := untrustedWeights
	if s.trusted {
		w = trustedWeights
	}
	s.addStandard(s.words, w.words, chanceMemories, s.wordMass.chance())
	s.addStandard(s.letters, w.letters, chanceGrams, s.letterMass.chance())
	if s.dense {
		s.addStandard(s.cos, w.meaning, chanceMemories, usualSpread/p.stretch())
	}
	copy(s.fused, s.base)
	for _, c := range p.conversations {
		s.lendContext(c)
	}
	s.favourSpeakers(p)
	for _, slot := range s.kept {
		// Sums are rounded so that the order in which memories came, and with
		// it the order of summing, does not decide between equals.
		s.fused[slot] = float32(math.Round(float64(s.fused[slot])*1e4) / 1e4)
	}
}

// addStandard adds to base weight times the standard score of a channel among
// the memories kept and as many more as chance says, which lie that far from
// the mean. A memory that the channel knows nothing about counts as average.
func (s *search) addStandard(channel []float32, weight float32, chance, far float64) {
	var n, sum, squares float64
	for _, slot := range s.kept {
		if x := float64(channel[slot]); x != noCosine {
			n++
			sum += x
			squares += x * x
		}
	}
	if n == 0 {
		return
	}
	mean := sum / n
	sd := math.Sqrt((max(0, squares-n*mean*mean) + chance*far*far) / (n + chance))
	if sd < 1e-6 {
		return
	}
	m, f := float32(mean), weight/float32(sd)
	for _, slot := range s.kept {
		if x := channel[slot]; x != noCosine {
			s.base[slot] += (x - m) * f
		}
	}
}

// lendContext adds to the memories kept of a conversation what their
// neighbours and the best of them have above average.
func (s *search) lendContext(c *conversation) {
	line := s.line[:0]
	var best float32
	for _, slot := range c.slots {
		if s.keep[slot] {
			line = append(line, slot)
			best = max(best, s.base[slot])
		}
	}
	s.line = line
	if len(line) < 2 || best == 0 {
		return
	}
	at := func(i int) float32 {
		if i < 0 || i >= len(line) {
			return 0
		}
		return max(0, s.base[line[i]])
	}
	for i, slot := range line {
		s.fused[slot] += besideShare*(at(i-1)+at(i+1)) + nearShare*(at(i-2)+at(i+2)) + dialogueShare*best
	}
}

// favourSpeakers adds to the memories whose speaker the query names.
func (s *search) favourSpeakers(p *Partition) {
	if len(p.labels.ids) == 0 {
		return
	}
	named := make([]bool, len(p.labels.all))
	some := false
	for id, l := range p.labels.all {
		all := len(l.terms) > 0
		for _, t := range l.terms {
			if _, ok := s.termAt[t]; !ok {
				all = false
				break
			}
		}
		named[id] = all
		some = some || all
	}
	if !some {
		return
	}
	for _, slot := range s.kept {
		if named[p.docs[slot].label] {
			s.fused[slot] += speakerBonus
		}
	}
}
