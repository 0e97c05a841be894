package lexical

import "strings"

// irregular maps the irregular forms of common English verbs and nouns to the
// stem of their base form.
var irregular = func() map[string]string {
	m := make(map[string]string)
	for _, line := range strings.Split(strings.TrimSpace(irregularForms), "\n") {
		forms := strings.Fields(line)
		base := string(stemRegular(forms[0]))
		for _, f := range forms[1:] {
			m[f] = base
		}
	}
	return m
}()

func stemRegular(w string) []byte {
	b := []byte(w)
	if len(b) <= 3 {
		return b
	}
	if hasSuffix(b, "e") && len(b) > 4 {
		return b[:len(b)-1]
	}
	if hasSuffix(b, "y") {
		b[len(b)-1] = 'i'
	}
	return b
}

// A line is a base form and the forms no rule of [stem] leads back to it.
// Forms that are at least as common as another word (saw, left, found, felt
// stay; lay, bore, wound do not) are left out.
const irregularForms = `
go went gone goes
buy bought
bring brought
think thought
teach taught
catch caught
fight fought
seek sought
eat ate eaten
see seen saw
say said
tell told
sell sold
feel felt
find found
leave left
lose lost
meet met
make made making
take took taken taking
give gave given giving
get got gotten getting
come came coming
become became becoming
begin began begun
drink drank drunk
sing sang sung
swim swam swum
ring rang
run ran
write wrote written writing
drive drove driven driving
ride rode ridden riding
rise rose risen
speak spoke spoken
break broke broken
choose chose chosen
wake woke woken
steal stole stolen
freeze froze frozen
wear wore worn
tear torn
know knew known
grow grew grown
throw threw thrown
fly flew flown flying
draw drew drawn
blow blew blown
show shown
fall fell fallen
forget forgot forgotten
hide hid hidden hiding
bite bit bitten biting
keep kept
sleep slept
sweep swept
weep wept
build built
send sent
spend spent
lend lent
bend bent
mean meant
dream dreamt
learn learnt
burn burnt
spell spelt
hear heard
hold held
stand stood
understand understood
sit sat
win won
pay paid
lead led
feed fed
read reading
shoot shot
shake shook shaken shaking
stick stuck
strike struck
hang hung
dig dug
spin spun
swing swung
fly flown
feel felt
deal dealt
kneel knelt
light lit
slide slid
bind bound
grind ground
wind winding
die died dying dies
lie lied lying lies
tie tied tying ties
use used using uses
age aged aging ages
ski skied skiing skis
child children
man men
woman women
person people
foot feet
tooth teeth
goose geese
mouse mice
wife wives
life lives
knife knives
leaf leaves
half halves
shelf shelves
wolf wolves
loaf loaves
self selves
good better best
bad worse worst
big bigger biggest
far further farther
early earlier earliest
happy happier happiest
`
