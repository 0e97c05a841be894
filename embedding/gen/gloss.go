package main

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// maxGlosses bounds the glosses kept of a word.
const maxGlosses = 3

// candidate is one gloss of a word with what its rank depends on.
type candidate struct {
	text   string
	words  int
	place  int     // its place among the word's glosses, later for rare registers
	rarity float64 // of its rarest word
}

var (
	// notMeaning begins glosses that speak about the word instead of saying what it means.
	notMeaning = regexp.MustCompile(`(?i)^(variant of|old variant|erhua variant|surname |CL:|used in |abbr\.|see |see also|also pr|Taiwan pr|Japanese variant|also written|pr\. |same as|equivalent to|archaic variant|old name|ancient )`)
	rareUse    = regexp.MustCompile(`^\((literary|old|archaic|dialect|coll|Internet|slang|loanword|math|sports|Tw)`)
	senseSplit = regexp.MustCompile(`;\s*`)
	bracketed  = regexp.MustCompile(`\[[^\]]*\]`)
	innermost  = regexp.MustCompile(`\([^()]*\)`)
	somebody   = regexp.MustCompile(`\bsb\b`)
	something  = regexp.MustCompile(`\bsth\b`)
	etcetera   = regexp.MustCompile(`\betc\.?\b`)
	article    = regexp.MustCompile(`^(a|an|the|be) `)
	englishish = regexp.MustCompile(`[A-Za-z][A-Za-z'\-]*|\d+`)
)

// clean strips a gloss of references, remarks and dictionary shorthand.
func clean(g string) string {
	g = bracketed.ReplaceAllString(g, "")
	for before := ""; before != g; {
		before = g
		g = innermost.ReplaceAllString(g, "")
	}
	g = strings.NewReplacer("…", " ", "~", "", "|", " ", "\t", " ").Replace(g)
	g = somebody.ReplaceAllString(g, "somebody")
	g = something.ReplaceAllString(g, "something")
	g = etcetera.ReplaceAllString(g, "")
	return strings.Trim(strings.Join(strings.Fields(g), " "), " ,.!?;:")
}

// candidates lists the usable glosses of all entries of one word. Entries for
// names, told by their capital pinyin, come after common words.
func candidates(entries []entry, rarity map[string]float64) []candidate {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b entry) int {
		rank := func(e entry) int {
			if startsUpper(e.pinyin) {
				return 1
			}
			return 0
		}
		return cmp.Compare(rank(a), rank(b))
	})
	var out []candidate
	place := 0
	for _, e := range entries {
		for _, sense := range e.senses {
			later := 0
			switch {
			case rareUse.MatchString(sense):
				later = 2
			case strings.HasPrefix(sense, "(bound form"):
				later = 1
			}
			for _, g := range senseSplit.Split(sense, -1) {
				if notMeaning.MatchString(g) {
					continue
				}
				g = clean(g)
				if g == "" || strings.ContainsFunc(g, isHan) {
					continue
				}
				g = strings.TrimPrefix(g, "to ")
				g = article.ReplaceAllString(g, "")
				words := englishish.FindAllString(g, -1)
				if len(words) == 0 {
					continue
				}
				c := candidate{strings.ToLower(g), len(words), place + later, 0}
				for _, w := range words {
					c.rarity = max(c.rarity, rarityOf(rarity, w))
				}
				out = append(out, c)
				place++
			}
		}
	}
	return out
}

// rank picks the best glosses: early, short, and made of words the encoder knows.
func rank(cs []candidate) []string {
	const longest = 4 // words of a gloss that is worth an own vote
	if len(cs) == 0 {
		return nil
	}
	type scored struct {
		score float64
		text  string
	}
	var short []scored
	for _, c := range cs {
		if c.words <= longest {
			// The conversions keep the compiler from fusing the operations,
			// which would round differently from machine to machine.
			place, length, rare := float64(.25*float64(min(c.place, 12))), float64(.5*float64(c.words-1)), float64(.15*c.rarity)
			short = append(short, scored{float64(place+length) + rare, c.text})
		}
	}
	if len(short) == 0 { // a definition: its beginning has to do
		best := slices.MinFunc(cs, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.words, b.words), cmp.Compare(a.place, b.place))
		})
		words := strings.Fields(best.text)
		return []string{strings.Join(words[:min(len(words), 8)], " ")}
	}
	slices.SortFunc(short, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.text, b.text))
	})
	var best []string
	for _, s := range short {
		if len(best) < maxGlosses && !slices.Contains(best, s.text) {
			best = append(best, s.text)
		}
	}
	return best
}

// unknownRarity is the rarity of a word that is no piece of the vocabulary.
const unknownRarity = 15

func rarityOf(rarity map[string]float64, word string) float64 {
	if r, ok := rarity[strings.ToLower(word)]; ok {
		return r
	}
	return unknownRarity
}

// wordRarity gives -ln p of the vocabulary's whole words in lower case. Of
// several spellings the rarest counts, which keeps proper names down.
func wordRarity(vocab []piece) map[string]float64 {
	rarity := map[string]float64{}
	for _, p := range vocab {
		if w, ok := strings.CutPrefix(p.text, wordStart); ok && p.score != 0 {
			rarity[strings.ToLower(w)] = -p.score
		}
	}
	return rarity
}
