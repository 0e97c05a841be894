package index_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"reverie/embedding"
	"reverie/internal/gloss"
	"reverie/internal/lexical"
	"reverie/vector/index"
)

// The memories of the quality tests, by row id. Conversation and speaker come
// with the text where a test needs them.
var memories = []string{
	1:  "My sister Nora opened a bakery in Porto last autumn.",
	2:  "Bought a green bicycle for the twins.",
	3:  "The kettle whistles every morning at six.",
	4:  "Nightly backups of the billing database go to the vault in Zurich.",
	5:  "I get dizzy from red wine and avoid it.",
	6:  "Our dog Biscuit is afraid of thunderstorms.",
	7:  "The landlord raised the rent by eight percent.",
	8:  "Proton bridge must be restarted after every update.",
	9:  "I taught mathematics at a village school for three years.",
	10: "We watched a documentary about octopuses on Sunday.",
	11: "The wifi password of the cabin is printed under the router.",
	12: "Leo wants to become a firefighter when he grows up.",
	13: "I lost my umbrella on the tram yesterday.",
	14: "Pour les vacances nous louons une maison en Bretagne.",
	15: "Meine Geschwister wohnen alle in Hamburg.",
	16: "系统会校验每个请求的用户身份。",
	17: "昨天把C盘清理了一遍，腾出二十个G。",
	18: "我每天早上喝一杯绿茶。",
	19: "外婆的生日在农历八月十五。",
	20: "去年夏天我们在上海看了一场话剧。",
	21: "海上的风浪让渡轮停航了两天。",
	22: "这里的API配置写错了，要改成新的网关。",
	23: "他害怕坐飞机，所以总是坐火车。",
	24: "孩子们晚上常玩成语接龙。",
	25: "Купили новый самовар для бабушки.",
	26: "友だちとしりとりをして遊んだ。",
	27: "Contact the printer shop at orders@inkwell.example about invoice v2.4.1.",
	28: "The retro of team mem-palace is on Friday in room user_lab.",
}

var builtin = sync.OnceValue(func() *embedding.Builtin { return embedding.NewBuiltin(embedding.BuiltinOptions{}) })

func vectors(t testing.TB, text string) []index.Vec {
	t.Helper()
	passages, err := builtin().EmbedDocuments(context.Background(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	var vs []index.Vec
	for _, p := range passages[0] {
		v, err := index.Quantize(p)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	return vs
}

func query(t testing.TB, text string) index.Query {
	t.Helper()
	v, err := builtin().EmbedQuery(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return index.Query{Text: text, Vector: v, DenseTrusted: builtin().Understands(text)}
}

func newPartition() *index.Partition { return index.New(lexical.New(gloss.Default())) }

func put(t testing.TB, p *index.Partition, d index.Doc) {
	t.Helper()
	if err := p.Put(d); err != nil {
		t.Fatal(err)
	}
}

func filled(t testing.TB) *index.Partition {
	p := newPartition()
	for rid, text := range memories {
		if text != "" {
			put(t, p, index.Doc{Meta: index.Meta{RID: int64(rid), Created: int64(rid)}, Text: text, Vectors: vectors(t, text)})
		}
	}
	return p
}

func first(r index.Result) int64 {
	if len(r.Hits) == 0 {
		return 0
	}
	return r.Hits[0].RID
}

func TestSearchByWords(t *testing.T) {
	p := filled(t)
	for _, test := range []struct {
		what, query string
		want        int64
	}{
		{"stemming", "whistling kettles", 3},
		{"irregular verb", "teach mathematics", 9},
		{"irregular verb", "buy bicycles", 2},
		{"pairs: order of characters", "上海", 20},
		{"pairs: order of characters", "海上", 21},
		{"two characters", "身份", 16},
		{"phrase", "用户身份", 16},
		{"letter beside a character", "C盘", 17},
		{"letters beside characters", "API配置", 22},
		{"idiom", "成语接龙", 24},
		{"kana", "しりとり", 26},
		{"traditional", "渡輪停航", 21},
		{"English question, Chinese memory", "green tea in the morning", 18},
		{"Chinese question, English memory", "密码 路由器", 11},
		{"parts of words", "Schwester", 15},
		{"inflection", "самовары", 25},
		{"accents", "mathématics", 9},
		{"address", "orders@inkwell.example", 27},
		{"version", "v2.4.1", 27},
		{"hyphen", "mem-palace", 28},
		{"underline", "user_lab", 28},
		{"joined", "mempalace", 28},
		{"syntax of others", `"kettle" AND (whistles) NEAR/3 *`, 3},
	} {
		r := p.Search(index.Query{Text: test.query}, nil, 3)
		if first(r) != test.want {
			t.Errorf("%s: %q finds %d (%q), want %d", test.what, test.query, first(r), memories[first(r)], test.want)
			continue
		}
		if h := r.Hits[0]; h.Match != index.Words || h.HasDistance || r.Confidence == index.Low && test.what != "parts of words" {
			t.Errorf("%s: %q: hit %+v with confidence %v, want words, no distance", test.what, test.query, h, r.Confidence)
		}
	}
}

func TestSearchByMeaning(t *testing.T) {
	p := filled(t)
	for _, test := range []struct {
		query string
		want  int64
	}{
		{"Which pet of ours fears storms?", 6},
		{"Which alcohol do I not tolerate?", 5},
		{"Where do copies of our accounting data go?", 4},
		{"What career does the boy dream of?", 12},
		{"她的姐姐在哪里开了面包店？", 1},
		{"房租涨了多少？", 7},
		{"Why does he never fly?", 23},
		{"When is grandmother's birthday?", 19},
		{"What did we see in the theatre in Shanghai?", 20},
	} {
		r := p.Search(query(t, test.query), nil, 5)
		if first(r) != test.want {
			t.Errorf("%q finds %d (%q), want %d", test.query, first(r), memories[first(r)], test.want)
			continue
		}
		h := r.Hits[0]
		if !h.HasDistance || h.Distance < 0 || h.Distance > 2 || h.Match == index.Words {
			t.Errorf("%q: hit %+v, want one by meaning with its distance", test.query, h)
		}
		if r.Confidence == index.Low {
			t.Errorf("%q: confidence low, score %v", test.query, h.Score)
		}
	}
}

// TestFusion holds that words and meaning together are better than either.
func TestFusion(t *testing.T) {
	p := filled(t)
	questions := []struct {
		query string
		want  int64
	}{
		{"What is my sister doing in Porto?", 1}, {"What colour is the bike of the twins?", 2},
		{"Which noise wakes us in the morning?", 3}, {"Where are the database backups stored?", 4},
		{"Which wine makes me dizzy?", 5}, {"What scares Biscuit?", 6}, {"What did the landlord do?", 7},
		{"What has to be started again after an update?", 8}, {"Where did I work as a teacher?", 9},
		{"What did we learn about octopuses?", 10}, {"How do I get on the internet in the cabin?", 11},
		{"What does Leo want to be?", 12}, {"What did I leave on the tram?", 13},
		{"谁害怕坐飞机？", 23}, {"我早上喝什么？", 18}, {"外婆什么时候过生日？", 19}, {"渡轮为什么停了？", 21},
		{"What was wrong with the API configuration?", 22}, {"What do the children play in the evening?", 24},
		{"Which pet of ours fears storms?", 6}, {"What career does the boy dream of?", 12}, {"Why does he never fly?", 23},
		{"inkwell invoice", 27}, {"v2.4.1", 27}, {"user_lab", 28}, {"retro room", 28}, {"C盘", 17}, {"самовары", 25},
	}
	mrr := func(change func(*index.Query)) float64 {
		var sum float64
		for _, c := range questions {
			q := query(t, c.query)
			change(&q)
			for i, h := range p.Search(q, nil, 10).Hits {
				if h.RID == c.want {
					sum += 1 / float64(i+1)
					if i > 0 {
						t.Logf("%q at %d", c.query, i+1)
					}
				}
			}
		}
		return sum / float64(len(questions))
	}
	both := mrr(func(*index.Query) {})
	words := mrr(func(q *index.Query) { q.Vector = nil })
	meaning := mrr(func(q *index.Query) { q.Text = "which" })
	t.Logf("MRR: words %.3f, meaning %.3f, both %.3f", words, meaning, both)
	if both < 0.97 || both <= words || both <= meaning {
		t.Errorf("MRR of both is %.3f, of words %.3f, of meaning %.3f", both, words, meaning)
	}
}

func TestConfidence(t *testing.T) {
	full := filled(t)
	lone := newPartition()
	put(t, lone, index.Doc{Meta: index.Meta{RID: 8}, Text: memories[8], Vectors: vectors(t, memories[8])})
	for _, p := range []*index.Partition{full, lone} {
		for _, foreign := range []string{
			"quantum chromodynamics lattice simulation", "阿根廷足球联赛积分榜", "zzyzx qwfp", "recipe for lamb vindaloo",
		} {
			q := query(t, foreign)
			for range 2 {
				r := p.Search(q, nil, 5)
				if r.Confidence != index.Low {
					t.Errorf("%d memories, vector %v: %q has confidence %v and finds %+v", p.Len(), q.Vector != nil, foreign, r.Confidence, r.Hits[0])
				}
				if len(r.Hits) != min(5, p.Len()) {
					t.Errorf("low confidence hides hits: %d of %d", len(r.Hits), p.Len())
				}
				q.Vector = nil
			}
		}
		q := query(t, "proton bridge")
		for range 2 {
			if r := p.Search(q, nil, 5); r.Confidence == index.Low || first(r) != 8 {
				t.Errorf("%d memories, vector %v: proton bridge has confidence %v: %+v", p.Len(), q.Vector != nil, r.Confidence, r.Hits)
			}
			q.Vector = nil
		}
	}
}

func TestScores(t *testing.T) {
	p := filled(t)
	var tops []float64
	for _, text := range []string{"the landlord raised the rent", "Where does my sister live?", "lamb vindaloo", "bridge"} {
		hits := p.Search(query(t, text), nil, 50).Hits
		for i, h := range hits {
			if h.Score < 0 || h.Score > 1 || i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("%q: score %v at %d after %v", text, h.Score, i, hits[max(i-1, 0)].Score)
			}
		}
		tops = append(tops, hits[0].Score)
		if few := p.Search(query(t, text), nil, 1).Hits; few[0] != hits[0] {
			t.Errorf("%q: the first hit is %+v of one and %+v of fifty", text, few[0], hits[0])
		}
	}
	if !(tops[0] > tops[1] && tops[1] > tops[2]) {
		t.Errorf("scores %v do not tell a quotation, a question and a foreign query apart", tops)
	}
}

func TestBlankQuery(t *testing.T) {
	p := filled(t)
	for _, text := range []string{"", "   ", "?!…", "\xff\xfe", "\x00"} {
		q := index.Query{Text: text, Vector: query(t, "the landlord raised the rent").Vector, DenseTrusted: true}
		r := p.Search(q, nil, 2)
		if r.Confidence != index.Low || len(r.Hits) != 2 || r.Hits[0].RID != 28 || r.Hits[1].RID != 27 || r.Hits[0].Score != 0 {
			t.Errorf("query %q: %+v, want the newest with confidence low", text, r)
		}
	}
	if r := newPartition().Search(query(t, "kettle"), nil, 5); len(r.Hits) != 0 || r.Confidence != index.Low || r.Considered != 0 {
		t.Errorf("an empty partition answers %+v", r)
	}
	if r := p.Search(query(t, "kettle"), nil, 0); len(r.Hits) != 0 || r.Considered != 28 {
		t.Errorf("no hits asked for: %+v", r)
	}
	if r := p.Search(query(t, "kettle"), nil, 1000); len(r.Hits) != 28 {
		t.Errorf("%d hits, want all", len(r.Hits))
	}
}

func TestFilterComesFirst(t *testing.T) {
	p := filled(t)
	even := func(m *index.Meta) bool { return m.RID%2 == 0 }
	r := p.Search(query(t, "the kettle whistles"), even, 50)
	if r.Considered != 14 || len(r.Hits) != 14 {
		t.Errorf("considered %d, found %d, want 14", r.Considered, len(r.Hits))
	}
	for _, h := range r.Hits {
		if h.RID%2 != 0 {
			t.Errorf("hit %d was filtered out", h.RID)
		}
	}
}

func TestRemovedMakesRoom(t *testing.T) {
	p := newPartition()
	put(t, p, index.Doc{Meta: index.Meta{RID: 1}, Text: "the lamp in the hall is broken", Vectors: vectors(t, "the lamp in the hall is broken")})
	put(t, p, index.Doc{Meta: index.Meta{RID: 2}, Text: "the lamp in the hall is repaired", Vectors: vectors(t, "the lamp in the hall is repaired")})
	q := query(t, "broken lamp in the hall")
	if r := p.Search(q, nil, 1); first(r) != 1 {
		t.Fatalf("found %+v, want 1", r)
	}
	p.Remove(1)
	p.Remove(1)
	if r := p.Search(q, nil, 1); first(r) != 2 || r.Considered != 1 {
		t.Errorf("after removal found %+v, want 2", r)
	}
	put(t, p, index.Doc{Meta: index.Meta{RID: 2}, Text: "nothing about light"})
	if r := p.Search(index.Query{Text: "lamp"}, nil, 1); r.Hits[0].Score > 0.1 || p.Len() != 1 {
		t.Errorf("the old text of a replaced memory is found: %+v", r)
	}
}

func TestPendingVector(t *testing.T) {
	p := filled(t)
	put(t, p, index.Doc{Meta: index.Meta{RID: 100}, Text: "The spare key hangs behind the mirror."})
	r := p.Search(query(t, "where is the spare key"), nil, 5)
	if first(r) != 100 || r.Hits[0].Match != index.Words || r.Hits[0].HasDistance {
		t.Errorf("found %+v, want the memory without a vector by its words", r.Hits)
	}
}

func TestBestPassageCounts(t *testing.T) {
	p := filled(t)
	passages := append(vectors(t, "Minutes of the planning meeting about chairs."), vectors(t, "Biscuit hides under the bed when it thunders.")...)
	put(t, p, index.Doc{Meta: index.Meta{RID: 100}, Text: "minutes", Vectors: passages})
	p.Remove(6)
	q := query(t, "Which pet of ours fears storms?")
	if r := p.Search(q, nil, 3); first(r) != 100 {
		t.Errorf("found %+v, want the memory with the passage", r.Hits)
	}
}

func TestConversationLendsContext(t *testing.T) {
	q := query(t, "Which paint did they choose for the nursery?")
	rank := func(conversations bool) int {
		p := newPartition()
		for i, text := range []string{
			"Ines: did you choose the paint for the nursery?", "Tom: yes, the pale yellow one.",
			"Ines: who waters the plants in August?", "Tom: the neighbour does.",
			"Ines: what about the mail?", "Tom: they keep it at the counter.",
			"Ines: we chose a name for the boat.", "Tom: my room has a new carpet.",
		} {
			d := index.Doc{Meta: index.Meta{RID: int64(i + 1), Created: int64(i + 1)}, Text: text, Vectors: vectors(t, text)}
			if conversations {
				d.Conversation = fmt.Sprint("c", i/2)
			}
			put(t, p, d)
		}
		return slices.IndexFunc(p.Search(q, nil, 10).Hits, func(h index.Hit) bool { return h.RID == 2 }) + 1
	}
	if with, without := rank(true), rank(false); with != 2 || with >= without {
		t.Errorf("the answer comes at %d with its conversation, at %d without, want 2 and later", with, without)
	}
}

func TestSpeakerNamed(t *testing.T) {
	p := newPartition()
	put(t, p, index.Doc{Meta: index.Meta{RID: 1, Created: 1}, Text: "Tom: the harbour was lovely, Ines!"})
	put(t, p, index.Doc{Meta: index.Meta{RID: 2, Created: 2}, Text: "Ines: the harbour was lovely, Tom!"})
	put(t, p, index.Doc{Meta: index.Meta{RID: 3, Created: 3}, Text: "yes, the harbour was lovely", SaidBy: "Paul"})
	for name, want := range map[string]int64{"Tom": 1, "Ines": 2, "Paul": 3} {
		if r := p.Search(index.Query{Text: "did " + name + " like the harbour"}, nil, 3); first(r) != want {
			t.Errorf("asked about %s found %+v, want %d", name, r.Hits, want)
		}
	}
}

func TestTiesNewestFirst(t *testing.T) {
	p := newPartition()
	for _, d := range []index.Meta{{RID: 5, Created: 10}, {RID: 9, Created: 30}, {RID: 2, Created: 30}, {RID: 7, Created: 20}} {
		put(t, p, index.Doc{Meta: d, Text: "same words"})
	}
	var got []int64
	for _, h := range p.Search(index.Query{Text: "same words"}, nil, 9).Hits {
		got = append(got, h.RID)
	}
	if want := []int64{9, 2, 7, 5}; !slices.Equal(got, want) {
		t.Errorf("ties come as %v, want %v", got, want)
	}
}

func TestUntrustedMeaning(t *testing.T) {
	p := filled(t)
	q := index.Query{Text: "Geschwistern", Vector: query(t, "the landlord raised the rent").Vector}
	if r := p.Search(q, nil, 1); first(r) != 15 {
		t.Errorf("found %+v, want 15: a vector that is not trusted must not outweigh the words", r.Hits)
	}
}

func TestSimilar(t *testing.T) {
	const long = "On Monday we planned the spring release and ordered new chairs. Somebody noticed that the heating in the north wing is broken. Piotr brings a fan until it is repaired."
	p := filled(t)
	add := map[int64]string{101: "I love Lebanese food", 102: long, 103: "我讨厌吃川菜", 104: "My favourite band is Kraftwerk"}
	for rid, text := range add {
		put(t, p, index.Doc{Meta: index.Meta{RID: rid}, Text: text, Vectors: vectors(t, text)})
	}
	for _, test := range []struct {
		text string
		want int64
	}{
		{"I hate Lebanese food", 101},
		{"The heating in the north wing is broken", 102},
		{"我喜欢吃川菜", 103},
		{"Nora, my sister, opened a bakery in Porto last autumn", 1},
		{"My favourite colour is teal", 0},
		{"I love hiking in Lebanon", 0},
		{"food", 0},
		{"我喜欢看电影", 0},
		{"Our cat Pepper is afraid of vacuum cleaners", 0},
		{"", 0},
	} {
		hits := p.Similar(vectorsOf(t, test.text), test.text, nil, 3)
		switch {
		case test.want == 0 && len(hits) > 0:
			t.Errorf("%q resembles %q (%+v), want nothing", test.text, text(add, hits[0].RID), hits[0])
		case test.want != 0 && (len(hits) == 0 || hits[0].RID != test.want):
			t.Errorf("%q resembles %+v, want %d", test.text, hits, test.want)
		}
	}
	same := memories[11]
	if hits := p.Similar(nil, same, nil, 3); len(hits) != 1 || hits[0].RID != 11 || hits[0].HasDistance {
		t.Errorf("the same text without vectors resembles %+v", hits)
	}
	if hits := p.Similar(vectors(t, same), same, func(m *index.Meta) bool { return m.RID != 11 }, 3); len(hits) != 0 {
		t.Errorf("a filtered memory is similar: %+v", hits)
	}
}

func vectorsOf(t *testing.T, text string) []index.Vec {
	if text == "" {
		return nil
	}
	return vectors(t, text)
}

func text(more map[int64]string, rid int64) string {
	if s, ok := more[rid]; ok {
		return s
	}
	return memories[rid]
}
