package gloss_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reverie/internal/gloss"
)

func TestDataMatchesRecordedSum(t *testing.T) {
	data, err := os.ReadFile("data/zh_gloss.bin")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("data/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x  zh_gloss.bin\n", sha256.Sum256(data)); got != string(sums) {
		t.Errorf("data has sum %srecorded is %s", got, sums)
	}
}

func TestEnglish(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"English is left alone", "  Where’s my “hat”? ", "  Where’s my “hat”? "},
		{"kana alone is left alone", "こんにちは。", "こんにちは。"},
		{"sentence", "我喜欢喝咖啡。", "i like drink coffee."},
		{"traditional", "我喜歡喝咖啡。", "i like drink coffee."},
		{"particles vanish", "的了吗", ""},
		{"mixed scripts", "我的iPhone坏了!", "i iPhone bad!"},
		{"full date", "2024年5月3日", "may 3, 2024"},
		{"full-width date", "２０２４年５月３号", "may 3, 2024"},
		{"year and month", "2024年2月", "february 2024"},
		{"month and day", "12月25日", "december 25"},
		{"month", "10月份", "october"},
		{"year", "1999年", "1999"},
		{"no such month", "13月", "13 month"},
		{"not inside a number", "12024年", "12024 year"},
		{"span of time", "3个月", "3 month"},
		{"unknown character", "㐀", ""},
		{"invalid bytes", "\xff我\xc3", "\ufffd i \ufffd"},
	}
	d := gloss.Default()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, d.English(tt.in)); diff != "" {
				t.Errorf("English(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestSegment(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"我爷爷在长城旁边开了一家面馆", []string{"我", "爷爷", "在", "长城", "旁边", "开", "了", "一家", "面", "馆"}},
		{"新型冠状病毒", []string{"新型冠状病毒"}},
		{"去上海ok吗", []string{"去", "上海", "ok", "吗"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, gloss.Default().Segment(tt.in)); diff != "" {
			t.Errorf("Segment(%q) (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestSimplify(t *testing.T) {
	for in, want := range map[string]string{
		"":                "",
		"長城":              "长城",
		"我在臺灣學習漢語, ok?":   "我在台湾学习汉语, ok?",
		"\xff長\ufffd\xe4": "\xff长\ufffd\xe4",
		"简体不变":            "简体不变",
	} {
		if got := gloss.Default().Simplify(in); got != want {
			t.Errorf("Simplify(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGlosses(t *testing.T) {
	type piece struct {
		Word    string
		Glosses []string
	}
	var got []piece
	for word, glosses := range gloss.Default().Glosses("在旁邊的cafe，5月1日", 3) {
		got = append(got, piece{word, slices.Clone(glosses)})
	}
	want := []piece{
		{"在", []string{"at"}},
		{"旁边", []string{"side", "adjacent place"}},
		{"的", []string{}},
		{"cafe， may 1 ", []string{"cafe， may 1 "}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Glosses (-want +got):\n%s", diff)
	}
	for range gloss.Default().Glosses("旁边的猫 and 旁边的狗", 3) {
		break // an early stop must not run on: range-over-func would panic
	}
	for word, glosses := range gloss.Default().Glosses("旁边馆", 1) {
		if len(glosses) != 1 {
			t.Errorf("%s has %q, want one gloss", word, glosses)
		}
	}
}

// text draws strings that mix what the package treats differently.
func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		part := rapid.OneOf(
			rapid.StringOfN(rapid.RuneFrom(nil, unicode.Han), 0, 12, -1),
			rapid.SampledFrom([]string{"我们", "中华人民共和国", "年", "月", "号", "2024", "５", "12", " ", "，", "\xff", "\xe4\xb8", "ok"}),
			rapid.String(),
		)
		return strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
	})
}

func TestSegmentsJoinToTheInput(t *testing.T) {
	d := gloss.Default()
	rapid.Check(t, func(t *rapid.T) {
		s := text().Draw(t, "text")
		words := d.Segment(s)
		if got := strings.Join(words, ""); got != s {
			t.Fatalf("Segment(%q) joins to %q", s, got)
		}
		for _, w := range words {
			if gloss.HasHan(w) && utf8.RuneCountInString(w) > gloss.MaxWord {
				t.Fatalf("word %q is too long", w)
			}
		}
	})
}

func TestEnglishHasNoChinese(t *testing.T) {
	d := gloss.Default()
	rapid.Check(t, func(t *rapid.T) {
		s := text().Draw(t, "text")
		if got := d.English(s); gloss.HasHan(got) {
			t.Fatalf("English(%q) = %q", s, got)
		}
		if once := d.Simplify(s); len(once) != len(s) {
			t.Fatalf("Simplify(%q) = %q changes the length", s, once)
		}
	})
}

// A run longer than what is segmented at once loses nothing.
func TestLongRun(t *testing.T) {
	for _, unit := range []string{"我喜欢喝咖啡", "㐀", "中华人民共和国"} {
		s := strings.Repeat(unit, 20_000)
		if got := strings.Join(gloss.Default().Segment(s), ""); got != s {
			t.Errorf("%s: segments of a long run do not join to it", unit)
		}
	}
}

func BenchmarkEnglish(b *testing.B) {
	for name, s := range map[string]string{
		"sentence": "上个周末我和妹妹去了海边，晚上一起吃了烤鱼，聊到很晚才回家。",
		"hostile":  strings.Repeat("一不大中", 25_000),
	} {
		b.Run(name, func(b *testing.B) {
			d := gloss.Default()
			b.ReportAllocs()
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				d.English(s)
			}
		})
	}
}
