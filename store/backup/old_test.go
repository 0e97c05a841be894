package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readOldText(t *testing.T, text string) (*oldBackup, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "embed_backup_20260102_030405.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := open(path)
	if err != nil {
		return nil, err
	}
	return src.old, src.Close()
}

func TestOldShapes(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want error
		says string
	}{
		"nothing in it":         {`{"collection":"c","created_at":"2026-01-02T03:04:05+00:00","ids":[],"documents":[],"metadatas":[]}`, nil, ""},
		"metadata of nothing":   {`{"collection":"c","created_at":"","ids":["a"],"documents":["d"],"metadatas":[null]}`, nil, ""},
		"a byte order mark":     {"\xef\xbb\xbf" + ` {"collection":"c","ids":[],"documents":[],"metadatas":[]}`, nil, ""},
		"unequal lengths":       {`{"collection":"c","ids":["a"],"documents":[],"metadatas":[{}]}`, ErrBroken, "1 ids, 0 documents and 1 metadatas"},
		"an id twice":           {`{"collection":"c","ids":["a","a"],"documents":["x","y"],"metadatas":[{},{}]}`, ErrBroken, `"a" is in it twice`},
		"ids that are numbers":  {`{"collection":"c","ids":[1],"documents":["x"],"metadatas":[{}]}`, ErrForeign, "not of the shape"},
		"metadata of a list":    {`{"collection":"c","ids":["a"],"documents":["x"],"metadatas":[[]]}`, ErrForeign, "not of the shape"},
		"nested documents":      {`{"collection":"c","ids":[["a"]],"documents":[["x"]],"metadatas":[[{}]]}`, ErrForeign, "not of the shape"},
		"no documents":          {`{"collection":"c","ids":["a"],"metadatas":[{}]}`, ErrForeign, "without the lists"},
		"documents are null":    {`{"collection":"c","ids":["a"],"documents":null,"metadatas":[{}]}`, ErrForeign, "without the lists"},
		"another object":        {`{"name":"x"}`, ErrForeign, "without the lists"},
		"cut short":             {`{"collection":"c","ids":["a"`, ErrBroken, "cut short"},
		"more behind it":        {`{"collection":"c","ids":[],"documents":[],"metadatas":[]}{}`, ErrBroken, "behind the end"},
		"a list":                {`[]`, ErrForeign, "does not begin"},
		"text":                  {`{{ template }}`, ErrForeign, "not like an embed_backup"},
		"unknown keys are fine": {`{"collection":"c","ids":[],"documents":[],"metadatas":[],"embeddings":null}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readOldText(t, tt.text)
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; want %v with %q", err, tt.want, tt.says)
			}
		})
	}
}

func TestOldMemories(t *testing.T) {
	old, err := readOldText(t, `{"collection":"c","created_at":"2026-01-02T03:04:05.123456+08:00",
		"ids":["ABCDEFABCDEFABCDEFABCDEFABCDEFAB","x","y","z","w"],"documents":["one","two",null," \n","five"],
		"metadatas":[{"user_id":"user_1","scope":"user","tags":"a, b c","importance":"high","created_at":"2025-01-02 03:04:05"},
		{"user_id":"user_1","importance":"HIGH","created_at":7},{"user_id":"user_1"},{"user_id":"user_1"},{"user_id":"nobody"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	key := func(k, scope string) (string, bool) { return k + "/" + scope, k != "nobody" }
	got := old.memories(key, time.Now(), &r)
	at := time.Date(2026, 1, 1, 19, 4, 5, 123456000, time.UTC)
	want := map[string][]Memory{
		"user_1/user": {{ID: "abcdefabcdefabcdefabcdefabcdefab", Partition: "user_1/user", Content: "one", Tags: []string{"a", "b c"}, Importance: "high", Source: "import",
			State: "live", Seen: 1, CreatedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), UpdatedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)}},
		"user_1/": {{ID: old.id("x"), Partition: "user_1/", Content: "two", Tags: []string{}, Importance: "medium", Source: "import", State: "live", Seen: 1, CreatedAt: at, UpdatedAt: at}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if id := old.id("x"); len(id) != 32 || id != old.id("x") || id == old.id("y") {
		t.Errorf("the id made of x is %q", id)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "2 memories have no text") || !strings.Contains(notes, `1 memories of "nobody"`) {
		t.Errorf("notes: %s", notes)
	}
}

func TestOldTags(t *testing.T) {
	for s, want := range map[string][]string{
		"": {}, "cats": {"cats"}, "cats dogs": {"cats", "dogs"}, "cats, house pets": {"cats", "house pets"}, "猫，宠物、小米": {"猫", "宠物", "小米"},
		"a,a, a ,": {"a"}, "#a #b": {"a", "b"}, `["x y","z"]`: {"x y", "z"}, "a;b|c\nd": {"a", "b", "c", "d"}, " , ": {}, strings.Repeat("x", 65): {},
	} {
		if d := cmp.Diff(want, oldTags(s)); d != "" {
			t.Errorf("%q (-want +got):\n%s", s, d)
		}
	}
	if n := len(oldTags(strings.Repeat("a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 ", 2))); n != maxTags {
		t.Errorf("%d tags", n)
	}
}
