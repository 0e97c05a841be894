package cleantext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"reverie/internal/cleantext"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string // "" for no error
	}{
		{"fine", "likes tea\n\tgreen\r\n", 100, ""},
		{"no limit", strings.Repeat("a", 100), 0, ""},
		{"at the limit, in characters", "我喜欢喝茶", 5, ""},
		{"over the limit", "我喜欢喝茶", 3, "content: 5 characters, at most 3 are allowed; shorten it by 2 or split it into several"},
		{"nul", "我\x00", 9, "content: NUL character U+0000 at character 2; remove it (of the control characters only line breaks and tabs are allowed)"},
		{"bell", "ab\x07", 9, "content: control character U+0007 at character 3; remove it (of the control characters only line breaks and tabs are allowed)"},
		{"escape", "\x1b[31m", 9, "content: control character U+001B at character 1; remove it (of the control characters only line breaks and tabs are allowed)"},
		{"invalid utf-8", "我\xff", 9, "content: invalid UTF-8 (byte 0xff) at character 2; send the text encoded as UTF-8"},
		{"cut code point", "a\xe6\x88", 9, "content: invalid UTF-8 (byte 0xe6) at character 2; send the text encoded as UTF-8"},
		{"encoded surrogate", "\xed\xa0\x80", 9, "content: invalid UTF-8 (byte 0xed) at character 1; send the text encoded as UTF-8"},
		{"replacement character is fine", "\ufffd", 9, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := cleantext.Check("content", tt.in, tt.limit)
			if got := fmt.Sprint(err); tt.want != "" && got != tt.want || tt.want == "" && err != nil {
				t.Fatalf("Check = %v, want %q", err, tt.want)
			}
			if err != nil && !errors.Is(err, cleantext.ErrInvalid) {
				t.Errorf("%v is not ErrInvalid", err)
			}
		})
	}
}

func TestErrorFields(t *testing.T) {
	var e *cleantext.Error
	if err := fmt.Errorf("write memory: %w", cleantext.Check("tags", "abcd", 3)); !errors.As(err, &e) {
		t.Fatalf("no *Error in %v", err)
	}
	if want := (cleantext.Error{Field: "tags", Reason: e.Reason, Actual: 4, Limit: 3}); *e != want {
		t.Errorf("got %+v, want %+v", *e, want)
	}
}

func TestAccept(t *testing.T) {
	got, removed, err := cleantext.Accept("content", "  likes\u200b tea\r\n", 9)
	if got != "likes tea" || removed != 1 || err != nil {
		t.Errorf("Accept = %q, %d, %v", got, removed, err)
	}
	// The position is one in the text as it came, although the invisible character before it would be removed.
	if _, _, err := cleantext.Accept("content", "a\u200b\x01", 9); err == nil || !strings.Contains(err.Error(), "character 3;") {
		t.Errorf("Accept = %v, want a position of 3", err)
	}
	if _, _, err := cleantext.Accept("content", "likes tea!", 9); !errors.Is(err, cleantext.ErrInvalid) {
		t.Errorf("Accept over the limit = %v", err)
	}
}

func TestLoneSurrogate(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     int // -1: none
	}{
		{"none", `{"a":"b"}`, -1},
		{"pair", `"\ud83d\ude00"`, -1},
		{"pair, upper case", `"\uD83D\uDE00"`, -1},
		{"lone high", `"x\ud83d"`, 2},
		{"lone low", `"x\ude00"`, 2},
		{"wrong order", `"\ude00\ud83d"`, 1},
		{"high, then letter", `"\ud83dx\ude00"`, 1},
		{"high, then other escape", `"\ud83d\n\ude00"`, 1},
		{"high high low", `"\ud83d\ud83d\ude00"`, 1},
		{"after a pair", `"\ud83d\ude00\ude00"`, 13},
		{"escaped backslash", `"\\ud83d"`, -1},
		{"escaped backslash, then escape", `"\\\ud83d"`, 3},
		{"in a key", `{"\ud800":1}`, 2},
		{"other escapes", `"\u0041\"\u6211\/"`, -1},
		{"first and last", `"\ud800\udfff \uDBFF\uDC00"`, -1},
		{"cut off", `"\ud8`, -1},
		{"ends in a backslash", `"\`, -1},
		{"empty", ``, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			offset, found := cleantext.LoneSurrogate([]byte(tt.in))
			if found != (tt.want >= 0) || found && offset != tt.want {
				t.Errorf("LoneSurrogate(%s) = %d, %v, want %d", tt.in, offset, found, tt.want)
			}
		})
	}
}

// What encoding/json does to a string of escapes is the oracle: U+FFFD appears exactly when there is a lone one.
func TestLoneSurrogateAgreesWithEncodingJSON(t *testing.T) {
	parts := []string{`\ud83d`, `\ude00`, `\uDBFF`, `\uDC00`, `\\`, `\"`, `\n`, `u`, `d83d`, `a`, `\u0041`, `\u6211`}
	rapid.Check(t, func(t *rapid.T) {
		raw := `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), "") + `"`
		var s string
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			t.Fatal(err)
		}
		if _, found := cleantext.LoneSurrogate([]byte(raw)); found != strings.ContainsRune(s, utf8.RuneError) {
			t.Fatalf("LoneSurrogate(%s) = %v, decoded %+q", raw, found, s)
		}
	})
}

func FuzzLoneSurrogate(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d\ude00\\u\ud800"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		offset, found := cleantext.LoneSurrogate(raw)
		if found && !bytes.HasPrefix(raw[offset:], []byte(`\u`)) {
			t.Fatalf("offset %d of %q is no escape", offset, raw)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	text := strings.Repeat("我喜欢在周末早上喝一杯茶，然后读书。", 445)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := cleantext.Check("content", text, 8010); err != nil {
			b.Fatal(err)
		}
	}
}
