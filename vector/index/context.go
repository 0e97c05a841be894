package index

import (
	"slices"
	"strings"

	"reverie/internal/lexical"
)

// conversation lists the memories of one conversation from the first to the last.
type conversation struct {
	name  string
	slots []uint32
}

// putContext enters the memory of a slot in its conversation.
func (p *Partition) putContext(slot uint32) {
	d := &p.docs[slot]
	if d.Conversation == "" {
		return
	}
	c := p.conversations[d.Conversation]
	if c == nil {
		c = &conversation{name: d.Conversation}
		p.conversations[c.name] = c
	}
	d.conversation, d.Conversation = c, c.name // one copy of the name
	c.slots = slices.Insert(c.slots, p.place(c, slot), slot)
}

func (p *Partition) removeContext(slot uint32) {
	c := p.docs[slot].conversation
	if c == nil {
		return
	}
	i := p.place(c, slot)
	c.slots = slices.Delete(c.slots, i, i+1)
	if len(c.slots) == 0 {
		delete(p.conversations, c.name)
	}
}

// place finds where a slot is or belongs in its conversation.
func (p *Partition) place(c *conversation, slot uint32) int {
	n := len(c.slots)
	if n == 0 || p.newer(slot, c.slots[n-1]) < 0 {
		return n
	}
	i, _ := slices.BinarySearchFunc(c.slots, slot, func(a, b uint32) int { return p.newer(b, a) })
	return i
}

// labels are the different names at the head of memories ("Anna: ..."), else of
// those who said them, as sets of terms. Label 0 is none.
type labels struct {
	ids  map[string]uint32
	all  []label
	free []uint32
}

type label struct {
	name  string
	terms []uint64
	users int
}

func newLabels() labels { return labels{ids: make(map[string]uint32), all: make([]label, 1)} }

// maxLabel is the length in bytes of a head that can still be a name.
const maxLabel = 40

// labelOf is the text before the first colon if that looks like a name (short,
// at most three words, no other punctuation), else who said it.
func labelOf(saidBy, text string) string {
	head := text[:min(len(text), maxLabel)]
	i := strings.IndexAny(head, ":：\n")
	if i <= 0 || head[i] == '\n' {
		return saidBy
	}
	if head[i] == ':' && !strings.HasPrefix(text[i+1:], " ") { // 12:30, http://
		return saidBy
	}
	head = head[:i]
	if strings.ContainsAny(head, ".,;!?()\"[]{}，。；！？、") || strings.Count(head, " ") > 2 {
		return saidBy
	}
	return head
}

// label counts another user of the label of a memory and returns its number.
func (p *Partition) label(saidBy, text string) uint32 {
	name := labelOf(saidBy, text)
	if name == "" {
		return 0
	}
	ls := &p.labels
	id, ok := ls.ids[name]
	if !ok {
		l := label{name: strings.Clone(name)}
		p.analyzer.Terms(name, func(t []byte, kind lexical.Kind) {
			if kind != lexical.Gloss {
				l.terms = append(l.terms, p.words.hash(t))
			}
		})
		if n := len(ls.free); n > 0 {
			id, ls.free = ls.free[n-1], ls.free[:n-1]
			ls.all[id] = l
		} else {
			id = uint32(len(ls.all))
			ls.all = append(ls.all, l)
		}
		ls.ids[l.name] = id
	}
	ls.all[id].users++
	return id
}

func (ls *labels) release(id uint32) {
	if id == 0 {
		return
	}
	l := &ls.all[id]
	if l.users--; l.users == 0 {
		delete(ls.ids, l.name)
		*l = label{}
		ls.free = append(ls.free, id)
	}
}
