package embedding_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"reverie/embedding"
)

func newBuiltin() *embedding.Builtin { return embedding.NewBuiltin(embedding.BuiltinOptions{}) }

func query(t testing.TB, e *embedding.Builtin, text string) []float32 {
	t.Helper()
	v, err := e.EmbedQuery(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func document(t testing.TB, e *embedding.Builtin, text string) embedding.Passages {
	t.Helper()
	d, err := e.EmbedDocuments(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return d[0]
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// best is the similarity of a query to a document's nearest passage.
func best(query []float32, d embedding.Passages) float64 {
	top := -1.
	for _, p := range d {
		top = max(top, dot(query, p))
	}
	return top
}

func TestDataMatchesRecordedSumsAndVersion(t *testing.T) {
	data, err := os.ReadFile("data/use_q8.bin")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("data/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x  use_q8.bin\n", sha256.Sum256(data)); got != string(sums) {
		t.Errorf("data has sum %srecorded is %s", got, sums)
	}
	dictionary, err := os.ReadFile("../internal/gloss/data/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x", sha256.Sum256(bytes.Join([][]byte{sums, dictionary}, nil)))[:12]
	if got := newBuiltin().Space().Version; got != want {
		t.Errorf("version %s, the data's is %s", got, want)
	}
}

func TestSpace(t *testing.T) {
	s := newBuiltin().Space()
	if s.Protocol != "builtin" || s.Dim != 512 || s.Model == "" || s.BaseURL != "" {
		t.Errorf("space %+v", s)
	}
	a := embedding.Space{Protocol: "p", Model: "m", BaseURL: "u"}
	b := a
	b.Dim, b.Version = 3, "other"
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("fingerprint depends on more than protocol, model and url")
	}
	const want = "5fa6029c14b07fd99417cf5e40809f197b51ecb4a8a034805d57f69286025d18" // printf 'p|m|u' | sha256sum
	if got := a.Fingerprint(); got != want {
		t.Errorf("fingerprint %s", got)
	}
}

func TestMeaning(t *testing.T) {
	e := newBuiltin()
	tests := []struct{ name, query, near, far string }{
		{"English", "Where does my brother live?", "My brother's flat is in the centre of Lisbon.", "The cake needs forty minutes in the oven."},
		{"paraphrase", "favourite food", "He likes noodles more than any other dish.", "She painted the fence green on Sunday."},
		{"Chinese", "我妈妈的生日是哪天？", "母亲生于五月九日。", "昨天的足球比赛很精彩。"},
		{"Chinese to English", "我对什么过敏？", "She gets a rash from cats because of an allergy.", "The train leaves at seven."},
		{"English to Chinese", "Which pet do we have?", "我们家养了一只小猫。", "会议改到星期四下午。"},
		{"traditional Chinese", "我們家養了什麼寵物？", "We have a small cat at home.", "The meeting moved to Thursday."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := query(t, e, tt.query)
			near, far := best(q, document(t, e, tt.near)), best(q, document(t, e, tt.far))
			if near < far+.1 {
				t.Errorf("near %.2f, far %.2f", near, far)
			}
		})
	}
}

func TestNoMeaning(t *testing.T) {
	e := newBuiltin()
	for _, text := range []string{"", " \n", "?!…", "。？！", "的了吗", "😀😀", "\xff\xfe", "\x00", "한국어", "---"} {
		if v := query(t, e, text); v != nil {
			t.Errorf("EmbedQuery(%q) has a vector", text)
		}
		if d := document(t, e, text); len(d) != 0 {
			t.Errorf("EmbedDocuments(%q) has %d passages", text, len(d))
		}
	}
	if v := query(t, e, "What?"); v == nil {
		t.Error("a query of question words only has no vector")
	}
}

func checkUnit(t testing.TB, v []float32) {
	t.Helper()
	if length := dot(v, v); len(v) != 512 || math.Abs(length-1) > 1e-5 { // false for NaN as well
		t.Fatalf("vector of %d numbers and length %v", len(v), length)
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) {
			t.Fatal("vector has NaN")
		}
	}
}

// The last line of the longest memory is found, in either language.
func TestLongDocuments(t *testing.T) {
	e := newBuiltin()
	for name, tt := range map[string]struct {
		size                int
		filler, last, query string
	}{
		"English":             {8000, "The weather was mild and the market was full of people who bought bread. ", "Remember that the spare key lies under the third flower pot.", "Where is the spare key?"},
		"English without end": {3000, "the weather was mild and the market was full of people who bought bread ", "remember that the spare key lies under the third flower pot", "Where is the spare key?"},
		"Chinese":             {8000, "今天天气很好，市场里有很多人买面包。", "备用钥匙放在第三个花盆下面。", "备用钥匙在哪里？"},
		"Chinese without end": {3000, "今天天气很好市场里有很多人买面包", "备用钥匙放在第三个花盆下面", "备用钥匙在哪里？"},
	} {
		t.Run(name, func(t *testing.T) {
			filler, last := []rune(strings.Repeat(tt.filler, tt.size/len([]rune(tt.filler))+1)), []rune(tt.last)
			long := string(filler[:tt.size-len(last)]) + tt.last
			d := document(t, e, long)
			if len(d) < 8 {
				t.Errorf("%d passages", len(d))
			}
			for _, v := range d {
				checkUnit(t, v)
			}
			q := query(t, e, tt.query)
			with, without := best(q, d), best(q, d[:len(d)-2])
			if with < without+.05 {
				t.Errorf("similarity %.2f with the last line, %.2f without", with, without)
			}
		})
	}
}

func TestQueryCache(t *testing.T) {
	cached, uncached := newBuiltin(), embedding.NewBuiltin(embedding.BuiltinOptions{QueryCache: -1})
	a, b := query(t, cached, "the same words"), query(t, cached, "the same words")
	if &a[0] != &b[0] {
		t.Error("a repeated query is encoded again")
	}
	c, d := query(t, uncached, "the same words"), query(t, uncached, "the same words")
	if &c[0] == &d[0] {
		t.Error("a query is cached without a cache")
	}
	if dot(a, c) < .999999 {
		t.Error("the cache changes the vector")
	}
}

func TestCancel(t *testing.T) {
	e := newBuiltin()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.EmbedQuery(ctx, "words"); !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedQuery: %v", err)
	}
	if _, err := e.EmbedDocuments(ctx, []string{"words"}); !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedDocuments: %v", err)
	}
	if err := e.Warm(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Warm: %v", err)
	}
}

// countdown is a context that is cancelled after it was asked n times.
type countdown struct {
	context.Context
	n int
}

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelBetweenPassages(t *testing.T) {
	ctx := &countdown{t.Context(), 3}
	_, err := newBuiltin().EmbedDocuments(ctx, []string{strings.Repeat("many words ", 1000)})
	if !errors.Is(err, context.Canceled) || ctx.n < -1 {
		t.Errorf("EmbedDocuments: %v, asked %d times after the end", err, -1-ctx.n)
	}
}

func TestConcurrentUse(t *testing.T) {
	e := newBuiltin()
	want := query(t, newBuiltin(), "a question about the river")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if i == 0 {
				if err := e.Warm(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if d := document(t, e, strings.Repeat("different words ", 10*i+1)); len(d) == 0 {
				t.Error("no passages")
			}
			if got, err := e.EmbedQuery(t.Context(), "a question about the river"); err != nil || dot(got, want) < .999999 {
				t.Errorf("another vector, error %v", err)
			}
			e.Understands("words")
		})
	}
	group.Wait()
}

func TestEmbedDocumentsKeepsOrder(t *testing.T) {
	e := newBuiltin()
	texts := []string{"first", "", "third"}
	d, err := e.EmbedDocuments(t.Context(), texts)
	if err != nil || len(d) != 3 || len(d[0]) != 1 || len(d[1]) != 0 || len(d[2]) != 1 {
		t.Fatalf("%d documents, error %v", len(d), err)
	}
	if dot(d[2][0], document(t, e, "third")[0]) < .999999 {
		t.Error("third document has another vector")
	}
	if d, err := e.EmbedDocuments(t.Context(), nil); d != nil || err != nil {
		t.Errorf("no texts: %v, %v", d, err)
	}
}

func FuzzEmbed(f *testing.F) {
	e := embedding.NewBuiltin(embedding.BuiltinOptions{QueryCache: -1})
	for _, s := range []string{"", "a", "Where?", "你好，2024年5月3日", "\xff\xc3", "ﷺﷺﷺ", strings.Repeat("a\u0301", 300), "e\u0301\u0301\u0301", "½①Ⅷ", "▁▁"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v := query(t, e, s); v != nil {
			checkUnit(t, v)
		}
		for _, v := range document(t, e, s) {
			checkUnit(t, v)
		}
		if c := e.Coverage(s); !(c >= 0 && c <= 1) {
			t.Errorf("Coverage(%q) = %v", s, c)
		}
	})
}
