package transfer_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/store/storetest"
	"reverie/transfer"
	"reverie/vector"
)

const (
	head   = `{"format":"reverie-export","version":1}` + "\n"
	aMemo  = `{"type":"memo","partition":"Local_Private_a","content":"x","version":3,"updated_at":"2024-05-06T07:08:09.000000Z","updated_by":"a"}` + "\n"
	aFact  = `{"type":"memory","partition":"Local_Private_a","id":"00000000000000000000000000000001","state":"live","scope":"user","content":"x","tags":["t"],"importance":"low","source":"user","created_at":"2024-05-06T07:08:09.000000Z","updated_at":"2024-05-06T07:08:09.000000Z","seen":1}` + "\n"
	end    = `{"type":"end","memos":1,"memories":1}` + "\n"
	bNote  = `{"type":"memo","partition":"Local_Private_b","content":"of b","version":1,"updated_at":"2024-05-06T07:08:09.000000Z"}` + "\n"
	bEnd   = `{"type":"end","memos":2,"memories":1}` + "\n"
	memoID = `"memo","partition":"Local_Private_a"`
)

// A file that is not a whole export stores nothing and says why.
func TestImportFormat(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"empty", "", "the file is empty"},
		{"only a line end", "\n", "not written by reverie export"},
		{"byte order mark", "\ufeff" + head + aMemo + aFact + end, "byte order mark"},
		{"Windows line ends", strings.ReplaceAll(head+aMemo+aFact+end, "\n", "\r\n"), "line 1: it ends as on Windows"},
		{"no end", head + aMemo + aFact, "cut off after line 3"},
		{"cut in a line", head + aMemo + aFact[:40], "line 3: it has no end"},
		{"cut in the last line", head + aMemo + aFact + end[:10], "line 4: it has no end"},
		{"last line without its end", head + aMemo + aFact + strings.TrimSuffix(end, "\n"), "line 4: it has no end"},
		{"a line is missing", head + aFact + end, "counts 1 memos and 1 memories, and the file has 0 and 1"},
		{"two files", head + aMemo + aFact + end + head, "line 5: something follows"},
		{"a blank line", head + "\n" + aMemo + aFact + end, "line 2: it is not a JSON object"},
		{"two values in a line", head + strings.TrimSpace(aMemo) + aFact + end, "line 2: it is not a JSON object"},
		{"an array", head + "[]\n", "line 2: it is not a JSON object"},
		{"a number as type", head + `{"type":1}` + "\n", "line 2: it is not a JSON object"},
		{"no UTF-8", head + strings.Replace(aMemo, `"x"`, "\"\xff\"", 1) + aFact + end, "line 2: it is not valid UTF-8"},
		{"unknown type", head + `{"type":"note","partition":"p"}` + "\n", `line 2: unknown type "note"`},
		{"more in the first line", `{"format":"reverie-export","version":1,"x":1}` + "\n", `line 1: unknown field "x"`},
		{"more in the last line", head + aMemo + aFact + `{"type":"end","memos":1,"memories":1,"x":1}` + "\n", `line 4: unknown field "x"`},
		{"too long a line", head + `{"type":"` + strings.Repeat("x", 5<<20) + "\n", "more than 4194304 bytes"},
		{"gzip", "\x1f\x8b\x08\x00", "line 1: it has no end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t, storetest.Engines(t)[0])
			_, err := transfer.Import(t.Context(), h.db, h.memories, strings.NewReader(tt.text), transfer.ImportOptions{})
			if !errors.Is(err, transfer.ErrFormat) || !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 400 {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
			if got := h.export(t); strings.Count(got, "\n") != 2 {
				t.Errorf("stored:\n%s", got)
			}
		})
	}
}

// A line that cannot be imported keeps its partition out, and no other one.
func TestImportRefusedLines(t *testing.T) {
	for _, tt := range []struct{ name, old, new, says string }{
		{"unknown field", `"seen":1`, `"seen":1,"mood":"good"`, `unknown field "mood"`},
		{"field of a memo", `"seen":1`, `"seen":1,"version":1`, `unknown field "version"`},
		{"another spelling", `"content":"x","tags"`, `"Content":"x","tags"`, `unknown field "Content"`},
		{"twice", `"seen":1`, `"seen":1,"seen":2`, `field "seen" stands there twice`},
		{"wrong type", `"seen":1`, `"seen":"1"`, `field "seen" is a JSON string`},
		{"fraction", `"seen":1`, `"seen":1.5`, `field "seen" is a JSON number`},
		{"wrong type in a list", `["t"]`, `[1]`, `field "tags`},
		{"half a character", `"content":"x","tags"`, `"content":"\ud800","tags"`, "half a character"},
		{"NUL", `"content":"x","tags"`, `"content":"x\u0000","tags"`, "NUL"},
		{"no content", `"content":"x","tags"`, `"tags"`, "content is empty"},
		{"null content", `"content":"x","tags"`, `"content":null,"tags"`, "content is empty"},
		{"id", `"id":"0`, `"id":"g`, "not a memory id"},
		{"no time", `"created_at":"2024-05-06T07:08:09.000000Z",`, ``, "created_at"},
		{"odd time", `"created_at":"2024-05-06T07:08:09.000000Z"`, `"created_at":"yesterday"`, "created_at is not a time"},
		{"fine time", `"created_at":"2024-05-06T07:08:09.000000Z"`, `"created_at":"2024-05-06T07:08:09.0000001Z"`, "more than six digits"},
		{"private in a group", `"seen":1`, `"seen":1,"private":true,"scope":"group"`, `stands there twice`},
		{"scope of a group", `"scope":"user"`, `"scope":"group"`, "scope"},
		{"memo without a version", `"version":3`, `"version":0`, "version is 0"},
		{"memo without a time", `"updated_at":"2024-05-06T07:08:09.000000Z","updated_by"`, `"updated_by"`, "updated_at is missing"},
		{"memo too long", memoID + `,"content":"x"`, memoID + `,"content":"` + strings.Repeat("x", 100_001) + `"`, "100001 characters"},
		{"two memos", aMemo, aMemo + aMemo, "has a memo already"},
		{"two ids", aFact, aFact + aFact, "stands in line 3 already"},
		{"partition", "Local_Private_a", ` odd key`, "not a key that can be"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t, storetest.Engines(t)[0])
			lines := strings.ReplaceAll(aMemo+aFact, tt.old, tt.new)
			if lines == aMemo+aFact {
				t.Fatal("the row changes nothing")
			}
			tail := bEnd
			switch lines {
			case aMemo + aMemo + aFact:
				tail = strings.Replace(bEnd, "2", "3", 1)
			case aMemo + aFact + aFact:
				tail = strings.Replace(bEnd, `"memories":1`, `"memories":2`, 1)
			}
			r := h.bring(t, head+lines+bNote+tail, transfer.ImportOptions{})
			if r.RefusedTotal == 0 || r.Left != 1 || !strings.Contains(r.Refused[0].Reason, tt.says) || r.Refused[0].Line < 2 {
				t.Errorf("report %+v, want a refusal that says %q", r, tt.says)
			}
			if got := h.export(t); strings.Contains(got, "Private_a") || strings.Contains(got, "odd key") || !strings.Contains(got, "of b") {
				t.Errorf("stored:\n%s", got)
			}
		})
	}
}

// An id that belongs to somebody else stays where it is, and nothing comes in its stead.
func TestImportMovesNothing(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	h.hold(t, "Local_Private_owner", given(1, "the owner's"))
	before := h.export(t)
	r := h.bring(t, head+aMemo+aFact+end, transfer.ImportOptions{OnConflict: vector.ReplaceAll})
	if r.Left != 1 || !strings.Contains(r.Refused[0].Reason, "Local_Private_owner") || r.Refused[0].Line != 3 {
		t.Errorf("report %+v", r)
	}
	if after := h.export(t); after != before {
		t.Errorf("stored:\n%s", after)
	}
}

func TestImportMemos(t *testing.T) {
	memo := func(text, at string) string {
		return head + `{"type":"memo","partition":"Local_Private_a","content":"` + text + `","version":3,"updated_at":"` + at + `"}` + "\n" + `{"type":"end","memos":1,"memories":0}` + "\n"
	}
	const old, late = "2001-01-01T00:00:00.000000Z", "2101-01-01T00:00:00.000000Z"
	for _, tt := range []struct {
		name   string
		have   []string
		text   string
		policy vector.Conflict
		want   string // content and version
		counts transfer.Counts
	}{
		{"none there", nil, memo("new", old), "", `"new","version":3`, transfer.Counts{Added: 1}},
		{"the same there", []string{"new"}, memo("new", late), vector.ReplaceAll, `"new","version":1`, transfer.Counts{Known: 1}},
		{"another one there", []string{"mine"}, memo("new", late), "", `"mine","version":1`, transfer.Counts{Kept: 1}},
		{"replaced", []string{"mine"}, memo("new", old), vector.ReplaceAll, `"new","version":3`, transfer.Counts{Replaced: 1}},
		{"replaced, versions rise", []string{"1", "2", "3", "mine"}, memo("new", old), vector.ReplaceAll, `"new","version":5`, transfer.Counts{Replaced: 1}},
		{"older", []string{"mine"}, memo("new", old), vector.ReplaceOlder, `"mine","version":1`, transfer.Counts{Kept: 1}},
		{"newer", []string{"mine"}, memo("new", late), vector.ReplaceOlder, `"new","version":3`, transfer.Counts{Replaced: 1}},
		{"a cleared one there", []string{"mine", ""}, memo("new", old), "", `"new","version":3`, transfer.Counts{Replaced: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t, storetest.Engines(t)[0])
			h.note(t, "Local_Private_a", tt.have...)
			before, v := h.export(t), h.version(t, "Local_Private_a")
			if r := h.bring(t, tt.text, transfer.ImportOptions{OnConflict: tt.policy, DryRun: true}); r.Memos != tt.counts {
				t.Errorf("dry run: %+v, want %+v", r.Memos, tt.counts)
			}
			if h.export(t) != before || h.version(t, "Local_Private_a") != v {
				t.Error("a dry run changed something")
			}
			if r := h.bring(t, tt.text, transfer.ImportOptions{OnConflict: tt.policy}); r.Memos != tt.counts {
				t.Errorf("%+v, want %+v", r.Memos, tt.counts)
			}
			if got := h.export(t); !strings.Contains(got, `"content":`+tt.want) {
				t.Errorf("stored, want %s:\n%s", tt.want, got)
			}
			h.sound(t)
		})
	}
}

// The limit of a partition does not stop an import; the report says that it is exceeded.
func TestImportOverLimit(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	other := newHome(t, storetest.Engines(t)[0])
	for i := range 60 {
		other.hold(t, "Local_Private_a", given(i+1, "fact "+strings.Repeat("x", i)))
	}
	done := 0
	r := h.bring(t, other.export(t), transfer.ImportOptions{Progress: func(n, total int) { done = n * 1000 / total }})
	if len(r.OverLimit) != 1 || r.OverLimit[0] != (transfer.Over{Partition: "Local_Private_a", Live: 60, Limit: 50}) || done != 1000 {
		t.Errorf("report %+v, progress %d", r, done)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	write := func(n int, result error) error {
		return transfer.WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, strings.Repeat("x", n))
			return result
		})
	}
	if err := write(100_000, nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := write(3, broken); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 100_000 {
		t.Errorf("%d bytes, %v: want the file from before", len(b), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left, want 1", len(entries))
	}
}

// What a path leads to is written, and what stands at the path stays what it is.
func TestWriteFileThrough(t *testing.T) {
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	t.Run("a link", func(t *testing.T) {
		dir := t.TempDir()
		link := filepath.Join(dir, "link")
		write(t, dir, map[string]string{"to/x": "before"})
		if err := os.Symlink(filepath.Join("to", "x"), link); err != nil {
			t.Skip("no symbolic links here:", err)
		}
		if err := transfer.WriteFile(link, hello); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, "to", "x")); string(b) != "hello" {
			t.Errorf("the file has %q", b)
		}
		if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link: %v, %v", st, err)
		}
	})
	t.Run("a device", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "null")
		if err := os.Symlink(os.DevNull, link); err != nil {
			t.Skip("no symbolic links here:", err)
		}
		if err := transfer.WriteFile(link, hello); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(link); err != nil || st.Mode().IsRegular() {
			t.Errorf("the device became %v, %v", st, err)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		if err := transfer.WriteFile(dir, hello); err == nil || !strings.Contains(err.Error(), "folder") {
			t.Errorf("error %v", err)
		}
		if left := tree(t, dir); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
}
