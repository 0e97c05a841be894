package lexical_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/gloss"
	"reverie/internal/lexical"
)

func analyzer() *lexical.Analyzer { return lexical.New(gloss.Default()) }

func TestTokens(t *testing.T) {
	plain := lexical.New(nil)
	for _, test := range []struct {
		text string
		want string
	}{
		{"", ""},
		{"?! … --", ""},
		{"The kettles are whistling", "kettl whistl"},
		{"She went, he goes, they've gone", "go go go"},
		{"I don't, can't, won't", "dont cant wont"},
		{"Anna's we'll I'd he’s", "anna"},
		{"l'amour O'Brien rock'n'roll", "lamour amour obrien brien rockn roll rocknroll"},
		{"user_id", "user id userid"},
		{"getUserName iPhone", "get user name getusernam phon iphon"},
		{"foo@bar.com", "foo bar com foobarcom"},
		{"v1.2.3", "v1 2 3 v1.2.3"},
		{"1,000 apples,pears", "1 000 1000 appl pear"},
		{"2024-05-03 08:30", "2024 5 3 20240503 8 30 08.30"},
		{"/usr/local/bin", "usr local bin usrlocalbin"},
		{"mem-palace", "mem palac mempalac"},
		{"C++ C# c", "c c++ c c# c"},
		{"NOTE: fix", "note fix"},
		{"café CAFÉ cafe\u0301 ｃａｆｅ", "cafe cafe cafe cafe"},
		{"Straße Øre Łódź naïve", "strass ore lodz naiv"},
		{"Ёлка ёлки", "елка елки"},
		{"pass\u200bword so\u00adft", "password soft"},
		{"早报", "早 报 早报"},
		{"C盘", "c c盘 盘"},
		{"用C盘", "用 用c c c盘 盘"},
		{"API配置", "api api配 配 置 配置"},
		{"bA盘", "b a盘 盘"},
		{"カフェ ｶﾌｪ かふぇ", "か ふ かふ ぇ ふぇ か ふ かふ ぇ ふぇ か ふ かふ ぇ ふぇ"},
		{"한국어", "한 국 한국 어 국어"},
		{"ภาษา", "ภา าษ ษา"},
		{"🎂 cake", "🎂 cake"},
		{"x\xffy\xfe", "x y"},
	} {
		got := strings.Join(plain.Tokens(test.text), " ")
		if got != test.want {
			t.Errorf("tokens of %q = %q, want %q", test.text, got, test.want)
		}
	}
}

// TestFinds puts short queries to texts: all of the query's terms that are not
// glosses must be in the text, and not in one that lacks the words.
func TestFinds(t *testing.T) {
	a := analyzer()
	terms := func(text string) map[string]bool {
		m := make(map[string]bool)
		a.Terms(text, func(t []byte, k lexical.Kind) {
			if k != lexical.Gloss {
				m[string(t)] = true
			}
		})
		return m
	}
	for _, test := range []struct{ text, query string }{
		{"系统会校验用户身份并记录日志", "用户身份"},
		{"每天七点看早报", "早报"},
		{"昨天把C盘清理了一遍", "C盘"},
		{"昨天把C盘清理了一遍", "c盘"},
		{"这里的API配置写错了", "API配置"},
		{"这里的API配置写错了", "配置"},
		{"这里的API配置写错了", "api"},
		{"我们常玩成语接龙", "成语接龙"},
		{"友だちとしりとりをした", "しりとり"},
		{"テレビを見た", "テレビ"},
		{"please don't call before ten", "don't"},
		{"please don't call before ten", "dont"},
		{"NOTE: fix the gate", "NOTE: fix"},
		{"meet at Café Nord", "cafe nord"},
		{"see user_id in /etc/app/conf.yaml", "user_id"},
		{"see user_id in /etc/app/conf.yaml", "userid"},
		{"see user_id in /etc/app/conf.yaml", "conf.yaml"},
		{"write to foo@bar.com", "foo@bar.com"},
		{"write to foo@bar.com", "bar.com"},
		{"we pinned v1.2.3 of it", "v1.2.3"},
		{"the mem-palace repo", "mem-palace"},
		{"the mem-palace repo", "mempalace"},
		{"купили новый самовар", "самовар"},
		{"參觀長城", "参观长城"},
		{"参观长城", "參觀長城"},
		{"서울에서 만났다", "서울"},
		{"running shoes for the children", "run shoe child"},
	} {
		have := terms(test.text)
		for q := range terms(test.query) {
			// The joined form of a part of a longer name is not in the text.
			if !have[q] && q != "confyaml" && q != "barcom" {
				t.Errorf("%q lacks %q of query %q", test.text, q, test.query)
			}
		}
		if other := terms("nothing of the kind, 完全无关的句子"); len(terms(test.query)) > 0 {
			hits := 0
			for q := range terms(test.query) {
				if other[q] {
					hits++
				}
			}
			if hits == len(terms(test.query)) {
				t.Errorf("query %q is found everywhere", test.query)
			}
		}
	}
}

func TestGlosses(t *testing.T) {
	kinds := make(map[string]lexical.Kind)
	analyzer().Terms("2024年5月3日喝咖啡", func(t []byte, k lexical.Kind) { kinds[string(t)] = k })
	for _, gloss := range []string{"coffe", "drink"} {
		if kinds[gloss] != lexical.Gloss {
			t.Errorf("no gloss %q among %v", gloss, kinds)
		}
	}
	english := analyzer().Tokens("drinking coffee")
	for _, want := range english {
		if _, ok := kinds[want]; !ok {
			t.Errorf("the English stem %q does not meet a gloss", want)
		}
	}
	if march := analyzer().Tokens("3月8日"); !slices.Contains(march, "march") {
		t.Errorf("tokens %q do not name the month", march)
	}
}

func TestTraditionalIsSimplified(t *testing.T) {
	a := analyzer()
	if diff := cmp.Diff(a.Tokens("我们参观了长城和颐和园"), a.Tokens("我們參觀了長城和頤和園")); diff != "" {
		t.Errorf("traditional differs from simplified (-want +got):\n%s", diff)
	}
}

func TestGrams(t *testing.T) {
	grams := func(w string) []uint32 { return lexical.AppendGrams(nil, []byte(w)) }
	for _, w := range []string{"", "a", "ab", "abc", "kitchen", "дом", "ключами", "é", "éa"} {
		if got, want := len(grams(w)), lexical.CountGrams([]byte(w)); got != want {
			t.Errorf("%q has %d grams, counted %d", w, got, want)
		}
	}
	shared := func(a, b string) int {
		n := 0
		for _, g := range grams(a) {
			if slices.Contains(grams(b), g) {
				n++
			}
		}
		return n
	}
	if n := shared("geschwister", "schwester"); n < 3 {
		t.Errorf("geschwister and schwester share %d grams", n)
	}
	if n := shared("ключами", "ключ"); n < 2 {
		t.Errorf("ключами and ключ share %d grams", n)
	}
	if n := shared("kitchen", "волосы"); n != 0 {
		t.Errorf("unrelated words share %d grams", n)
	}
}

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{"": true, " ?!…": true, "\xff": true, "a": false, "早": false, "7": false, "🎂": false} {
		if got := lexical.Blank(text); got != want {
			t.Errorf("Blank(%q) = %v", text, got)
		}
	}
}

// FuzzTerms: any string gives terms that are words, the same every time, and
// not many more than it has characters.
func FuzzTerms(f *testing.F) {
	for _, s := range []string{
		"", "The cafés near C盘", "a'b'c''d", "用户身份\xff\xfe身份", "v1.2.3-rc.4+build", "e\u0301\u0301\u0301\u0301", "ﷺ", "㍿㌔",
		strings.Repeat("a-", 200), "aA盘", "0'0'd", strings.Repeat("\u0300", 300), "ภาษาไทย", "١٢٣ مرحبا", "c++#", "+#", "'", "'a", "a'", "\x1f\x1fAb\x1f",
	} {
		f.Add(s)
	}
	a := analyzer()
	f.Fuzz(func(t *testing.T, text string) {
		tokens := a.Tokens(text)
		if again := a.Tokens(text); !slices.Equal(tokens, again) {
			t.Errorf("%q: %q, then %q", text, tokens, again)
		}
		// A character becomes at most itself, a pair, a word, a name, two mixed
		// pairs, and the words of three glosses; NFKC makes up to 18 of one.
		if len(tokens) > 20+18*30*utf8.RuneCountInString(text) {
			t.Errorf("%q gives %d tokens", text, len(tokens))
		}
		for _, w := range tokens {
			if w == "" || !utf8.ValidString(w) || strings.ContainsAny(w, " \n\x1f") {
				t.Errorf("%q gives the token %q", text, w)
			}
		}
		if lexical.Blank(text) && len(tokens) > 0 {
			t.Errorf("blank text %q gives %q", text, tokens)
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	a := analyzer()
	for name, text := range map[string]string{
		"english": "Mira told us that the planning meeting moved to Thursday because the train from Lyon arrives late; bring the printed drawings and the API_KEY of the staging server.",
		"chinese": "米拉说计划会改到周四，因为里昂来的火车会晚点；请带上打印好的图纸，还有测试服务器的API_KEY。",
		"hostile": strings.Repeat("a-b'c.", 1300),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			n := 0
			for b.Loop() {
				a.Terms(text, func([]byte, lexical.Kind) { n++ })
			}
		})
	}
}
