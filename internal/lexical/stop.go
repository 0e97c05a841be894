package lexical

import "strings"

// stopWords are English function words and what is left of contractions. They
// carry next to nothing in a question and would fill half of an English index.
// Negations with an apostrophe (dont, isnt) stay: somebody may look for one.
var stopWords = wordSet(`
	a an the of to in on at for from by with and or but if then than so as
	is are was were be been being am do does did doing has have had having
	i me my we us our you your he him his she her it its they them their
	this that these those there here what which who whom whose when where why how
	no nor not will would can could should may might must shall
	just about into over after before up down out off again too very
	s t re ve ll d m im don doesn didn isn wasn`)

// stopCharacters are Chinese function characters. As single characters they
// say nothing; the pairs they stand in are kept.
var stopCharacters = runeSet("的了是我你他她它们在有和就不都也很吗呢吧啊着过与或之其这那个么什哪谁呀嘛哦")

func wordSet(s string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

func runeSet(s string) map[rune]bool {
	m := make(map[rune]bool)
	for _, r := range s {
		m[r] = true
	}
	return m
}
