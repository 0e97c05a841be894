package index_test

import (
	"fmt"
	"slices"
	"testing"

	"reverie/vector/index"
)

// A store as it is after the first weeks: few memories, some of them in another
// language, so that one of them often has some word of a question by chance.
var (
	household = []string{
		"We bought a poodle called Muffin in spring.",
		"On Monday evenings I call my uncle in Leeds.",
		"My dermatologist is Dr. Okafor in the Linden arcade.",
		"I commute by ferry at half past eight.",
		"We are going to wallpaper the nursery in mint green.",
		"Grandpa had a knee replacement and takes painkillers.",
		"Peanuts make my throat swell.",
		"My cousin Lena studies law in Vienna.",
		"The ladder is kept behind the garage.",
		"I like to travel with hand luggage only.",
		"My identity card is in the blue folder.",
		"The plumber comes on Wednesday about the tap.",
		"I gave up chocolate in January.",
		"Our rent goes up to 980 euros next year.",
	}
	家常 = []string{
		"物业要求每月五号以前交房租。",
		"我习惯把雨伞放在门后面。",
		"舅舅住在青岛，开一家修车铺。",
		"我在准备驾照考试，下个月考科目三。",
		"我讨厌坐飞机，一般坐高铁。",
		"邻居家的鹦鹉会说话。",
		"这台电视坏了，打算换新的。",
		"女儿每个星期六上舞蹈课。",
	}
)

func store(t *testing.T, texts ...string) *index.Partition {
	p := newPartition()
	for i, text := range texts {
		put(t, p, index.Doc{Meta: index.Meta{RID: int64(i + 1), Created: int64(i + 1)}, Text: text, Vectors: vectors(t, text)})
	}
	return p
}

// TestChanceWords: in a small store, a memory that has a word of the question
// but nothing else to do with it does not come before the one that answers it.
func TestChanceWords(t *testing.T) {
	english, mixed := store(t, household...), store(t, slices.Concat(household, 家常)...)
	for _, test := range []struct {
		p     *index.Partition
		query string
		want  int64 // from 1
	}{
		{english, "What is our dog called?", 1},
		{english, "What do I take to get to work?", 4},
		{english, "How much do we pay for the flat next year?", 14},
		{mixed, "What is our dog called?", 1},
		{mixed, "How do I usually get to the other shore?", 4},
		{mixed, "What colour will the baby's room be?", 5},
		{mixed, "Which nut must I not eat every day?", 7},
		{mixed, "When will the broken tap be repaired?", 12},
		{mixed, "When does my daughter dance?", 22},
		{mixed, "我女儿什么时候跳舞？", 22},
		{mixed, "哪个电器出了问题？", 21},
		{mixed, "我对什么食物过敏？", 7},
	} {
		r := test.p.Search(query(t, test.query), nil, 3)
		if first(r) != test.want {
			t.Errorf("of %d memories %q finds %d, want %d: %+v", test.p.Len(), test.query, first(r), test.want, r.Hits)
		}
	}
}

// TestGlossIsAGuess: a word written counts more than one that the dictionary
// gives for a word of another language.
func TestGlossIsAGuess(t *testing.T) {
	for _, written := range []string{"an umbrella hangs there", "雨伞 umbrella"} {
		p := newPartition()
		put(t, p, index.Doc{Meta: index.Meta{RID: 1, Created: 1}, Text: written})
		put(t, p, index.Doc{Meta: index.Meta{RID: 2, Created: 2}, Text: "雨伞"})
		if r := p.Search(index.Query{Text: "umbrella"}, nil, 2); first(r) != 1 {
			t.Errorf("%q comes after a gloss: %+v", written, r.Hits)
		}
	}
}

// TestNotSoSure: a memory that only belongs to the topic is no certain answer.
func TestNotSoSure(t *testing.T) {
	p := store(t, slices.Concat(household, 家常)...)
	for _, text := range []string{"What is the boiling point of mercury?", "Which shares of the brewery did I sell?", "火星上有水吗？", "我把车停在哪里了？", "谁赢了象棋比赛？"} {
		if r := p.Search(query(t, text), nil, 5); r.Confidence == index.High {
			t.Errorf("%q: confidence %v for %+v", text, r.Confidence, r.Hits[0])
		}
	}
}

// TestOnlyWord: what has the only word of a query is the answer, even without
// a vector among others that have one.
func TestOnlyWord(t *testing.T) {
	p := newPartition()
	for i := range int64(100) {
		text := fmt.Sprintf("ticket%d is about the house", i)
		d := index.Doc{Meta: index.Meta{RID: i + 1, Created: i}, Text: text}
		if i%10 != 0 {
			d.Vectors = vectors(t, text)
		}
		put(t, p, d)
	}
	misleading := query(t, "Ticket 77 is about the house").Vector
	for i := range int64(100) {
		q := index.Query{Text: fmt.Sprintf("ticket%d", i), Vector: misleading, DenseTrusted: true}
		if r := p.Search(q, nil, 1); first(r) != i+1 {
			t.Errorf("%q finds memory %d", q.Text, first(r))
		}
	}
}
