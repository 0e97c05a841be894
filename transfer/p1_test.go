package transfer_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/glebarez/sqlite"
	"github.com/google/go-cmp/cmp"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/internal/intake"
	"reverie/journal"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/transfer"
	"reverie/vector"
	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
)

// p1Model embeds as a server's model of P1's would.
type p1Model struct {
	name   string
	prefix string // put before every text
	calls  int
}

func (m *p1Model) Space() embedding.Space {
	return embedding.Space{Protocol: "ollama-embed", Model: m.name, BaseURL: "http://127.0.0.1:11434", Dim: 16, Version: "1"}
}

func (m *p1Model) vector(text string) []float32 {
	sum := sha256.Sum256([]byte(m.name + "|" + m.prefix + text))
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	v := make([]float32, 16)
	var n float64
	for i := range v {
		v[i] = float32(r.NormFloat64())
		n += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(n))
	}
	return v
}

func (m *p1Model) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	return m.vector(text), nil
}

func (m *p1Model) EmbedDocuments(_ context.Context, texts []string) ([]embedding.Passages, error) {
	m.calls += len(texts)
	out := make([]embedding.Passages, len(texts))
	for i, t := range texts {
		out[i] = embedding.Passages{m.vector(t)}
	}
	return out, nil
}

// p1World is a server with P1's collection, and a home to import it into.
type p1World struct {
	*home
	model *p1Model
	c     *chroma.Client
}

func newP1World(t *testing.T, e storetest.Engine, url, database string) *p1World {
	t.Helper()
	w := &p1World{home: &home{Home: e.New(t)}, model: &p1Model{name: "nomic-embed-text"}}
	w.db = w.Open(t)
	var err error
	if w.memories, err = vector.New(t.Context(), w.db, w.model, vector.Options{Limit: 1000, Clean: intake.Policy{}.Clean}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.memories.Close() })
	if w.c, err = chroma.New(chroma.Options{URL: url, Tenant: "default_tenant", Database: database}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.c.Close() })
	if err := w.c.EnsureDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// collection makes P1's collection, with vectors of a model.
func (w *p1World) collection(t *testing.T, of *p1Model, recs []chroma.Record) {
	t.Helper()
	sp := of.Space()
	col, err := w.c.Ensure(t.Context(), transfer.P1Collection, map[string]any{
		"embed_fingerprint": sp.Fingerprint(), "embed_protocol": sp.Protocol, "embed_model": sp.Model, "embed_base_url": sp.BaseURL, "key_schema_version": 2,
	}, 16)
	if err != nil {
		t.Fatal(err)
	}
	for i := range recs {
		recs[i].Embedding = of.vector(recs[i].Document)
	}
	if err := w.c.Upsert(t.Context(), col.ID, recs); err != nil {
		t.Fatal(err)
	}
}

func p1Record(n int, user, scope, text string, change ...func(map[string]any)) chroma.Record {
	meta := map[string]any{
		"user_id": user, "scope": scope, "tags": "食物, preference，food", "importance": "high",
		"created_at": fmt.Sprintf("2025-03-04T05:06:%02d.123456+08:00", n%60),
	}
	for _, c := range change {
		c(meta)
	}
	return chroma.Record{ID: fmt.Sprintf("%032x", n), Document: text, Metadata: meta}
}

func (w *p1World) bring(t *testing.T, o transfer.P1Options) transfer.P1Report {
	t.Helper()
	o.Clean, o.By = intake.Policy{}.Clean, journal.Origin{Source: "import"}
	r, err := transfer.ImportP1(t.Context(), w.db, w.memories, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestImportP1(t *testing.T) {
	srv := chromatest.Start(t)
	storetest.Each(t, func(t *testing.T, e storetest.Engine) { testImportP1(t, e, srv) })
}

func testImportP1(t *testing.T, e storetest.Engine, srv *chromatest.Server) {
	w := newP1World(t, e, srv.URL, "p1_"+strings.ToLower(e.Name))
	ctx := t.Context()
	var recs []chroma.Record
	for i := range 620 { // more than a page
		user, scope := "QQPlatform_Private_10001", "user"
		switch i % 3 {
		case 1:
			user = "user_10002" // an old key
		case 2:
			user, scope = "QQPlatform_Group_555", "group"
		}
		recs = append(recs, p1Record(i, user, scope, fmt.Sprintf("memory number%d of the old bot", i)))
	}
	recs = append(recs,
		p1Record(900, "10003", "user", "bare digits with a scope"),
		p1Record(901, "QQPlatform_Channel_7", "group", "a channel is nobody's yet"),
		p1Record(902, "10004", "", "bare digits alone"),
		p1Record(903, "QQPlatform_Private_10001", "user", "odd values", func(m map[string]any) {
			m["importance"], m["created_at"], m["tags"] = "urgent", "yesterday", `["a b","c"]`
		}),
		p1Record(904, "QQPlatform_Private_10001", "user", "   "),
		p1Record(905, "", "user", "of nobody"),
		p1Record(906, "QQPlatform_Private_10001", "user", strings.Repeat("长", vector.MaxContentRunes+1)),
		p1Record(907, "QQPlatform_Private_10001", "user", "the key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"),
	)
	recs[3].ID = "6f1e2d3c-0000-4000-8000-0123456789ab" // with dashes
	recs[6].ID = "not hexadecimal at all"
	w.collection(t, w.model, recs)
	o := transfer.P1Options{Chroma: w.c, Embed: w.model.EmbedDocuments}

	dry := w.bring(t, func() transfer.P1Options { d := o; d.DryRun = true; return d }())
	if dry.Memories.Added != 625 {
		t.Errorf("dry run: %+v", dry.Memories)
	}
	if st, err := w.memories.Totals(ctx); err != nil || st.Live != 0 {
		t.Errorf("a dry run stored %+v, %v", st, err)
	}
	w.model.calls = 0
	r := w.bring(t, o)
	if r.Records != 628 || r.Memories != (transfer.Counts{Added: 625}) || r.VectorsNot != "" || r.Vectors != 624 || r.Pending != 1 {
		t.Errorf("%+v, %d vectors (%s), %d pending", r.Memories, r.Vectors, r.VectorsNot, r.Pending)
	}
	if d := cmp.Diff(map[string]int{
		"QQPlatform_Private_10001": 210, "QQPlatform_Private_10002": 207, "QQPlatform_Group_555": 206, "QQPlatform_Private_10003": 1, "QQPlatform_Channel_7": 1, "Unplaced_10004": 1,
	}, r.Partitions); d != "" {
		t.Errorf("partitions (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]transfer.P1Unplaced{{Key: "QQPlatform_Channel_7", Memories: 1}, {Key: "Unplaced_10004", Memories: 1}}, r.Unplaced); d != "" {
		t.Errorf("unplaced (-want +got):\n%s", d)
	}
	refused := fmt.Sprint(r.Refused)
	for _, want := range []string{"has no text", "nobody knows whose", "8001 characters; the limit is 8000"} {
		if !strings.Contains(refused, want) {
			t.Errorf("refused %s: nothing says %q", refused, want)
		}
	}
	if len(r.Refused) != 3 || len(r.Remarks) != 4 {
		t.Errorf("refused %v, remarks %v", r.Refused, r.Remarks)
	}
	if w.model.calls > 4 { // the sample, and the one whose text was cleaned
		t.Errorf("%d texts were embedded although their vectors came along", w.model.calls)
	}

	// Every text is found, by whom it belongs to, as it was.
	for i, rec := range recs[:620] {
		c, scope := caller.Caller{User: "10001", Platform: "QQPlatform"}, caller.ScopeUser
		switch i % 3 {
		case 1:
			c.User = "10002"
		case 2:
			c.User, c.Group, scope = "x", "555", caller.ScopeGroup
		}
		found, err := w.memories.Search(ctx, c, vector.Query{Scope: scope, Text: rec.Document, TopK: 1})
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Content != rec.Document {
			t.Fatalf("%q: %+v, %v", rec.Document, found.Hits, err)
		}
		m := found.Hits[0].Memory
		if i != 3 && i != 6 && m.ID != rec.ID || m.Importance != vector.High || !slices.Equal(m.Tags, []string{"食物", "preference", "food"}) ||
			m.CreatedAt.Format("2006-01-02T15:04:05.000000Z07:00") != fmt.Sprintf("2025-03-03T21:06:%02d.123456Z", i%60) || m.Source != vector.FromImport || m.Private || m.Pending {
			t.Fatalf("%+v", m)
		}
		if i == 3 && m.ID != "6f1e2d3c0000400080000123456789ab" {
			t.Errorf("%+v", m)
		}
	}
	if out := w.export(t); strings.Contains(out, "sk-proj-abcdef") || !strings.Contains(out, "a channel is nobody's yet") {
		t.Error("a key was stored, or a memory was not")
	}
	again := w.bring(t, o)
	if again.Memories.Added != 0 || again.Memories.Known+again.Memories.Kept != 625 || again.Pending != 0 {
		t.Errorf("again: %+v", again.Memories)
	}
	w.sound(t)
}

// Vectors that only look like the serving model's are made anew.
func TestImportP1Vectors(t *testing.T) {
	srv := chromatest.Start(t)
	for i, tt := range []struct {
		name  string
		of    *p1Model
		says  string
		takes int
	}{
		{"same model", &p1Model{name: "nomic-embed-text"}, "", 5},
		{"another model", &p1Model{name: "bge-m3"}, "they are of ollama-embed bge-m3", 0},
		{"another prefix", &p1Model{name: "nomic-embed-text", prefix: "search_document: "}, "another prefix", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newP1World(t, storetest.Engine{Name: store.SQLite}, srv.URL, fmt.Sprint("vectors", i))
			var recs []chroma.Record
			for i := range 5 {
				recs = append(recs, p1Record(i, "user_1", "user", fmt.Sprint("fact ", i)))
			}
			w.collection(t, tt.of, recs)
			r := w.bring(t, transfer.P1Options{Chroma: w.c, Embed: w.model.EmbedDocuments})
			if r.Memories.Added != 5 || r.Vectors != tt.takes || r.Pending != 5-tt.takes || !strings.Contains(r.VectorsNot, tt.says) || (tt.says == "") != (r.VectorsNot == "") {
				t.Errorf("%+v", r)
			}
		})
	}
	w := newP1World(t, storetest.Engine{Name: store.SQLite}, srv.URL, "nothing")
	if _, err := transfer.ImportP1(t.Context(), w.db, w.memories, transfer.P1Options{Chroma: w.c}); err == nil || !strings.Contains(err.Error(), "no such collection") {
		t.Errorf("a collection that is not there: %v", err)
	}
	filled := newP1World(t, storetest.Engine{Name: store.SQLite}, srv.URL, "filled")
	filled.collection(t, &p1Model{name: "bge-m3"}, []chroma.Record{p1Record(1, "user_1", "user", "a fact")})
	places := []transfer.P1Place{{Chroma: w.c, Tenant: "default_tenant", Database: "nothing"}, {Chroma: filled.c, Tenant: "default_tenant", Database: "filled"}}
	if p, err := transfer.FindP1(t.Context(), "", places...); err != nil || p != places[1] {
		t.Errorf("found in %v, %v", p, err)
	}
	_, err := transfer.FindP1(t.Context(), "other", places...)
	want := "in tenant default_tenant, database nothing (which has none), nor in tenant default_tenant, database filled (which has amrita_user_memory)"
	if !errors.Is(err, transfer.ErrNoCollection) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

// memoDB makes a bot's database that is open while it is imported.
func memoDB(t *testing.T, table string, rows ...[]any) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bot.db")
	db, err := sql.Open(sqlite.DriverName, "file:"+path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, s := range []string{
		"CREATE TABLE amrita_user (user_id TEXT, name TEXT)",
		"CREATE TABLE " + table + " (user_id VARCHAR(64) PRIMARY KEY, content TEXT NOT NULL, version INTEGER, updated_at DATETIME)",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rows {
		if _, err := db.Exec("INSERT INTO "+table+" VALUES (?, ?, ?, ?)", r...); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestImportP1Memos(t *testing.T) {
	h := newHome(t, storetest.Engine{Name: store.SQLite})
	path := memoDB(t, "amrita_plugin_memory_user_memo",
		[]any{"QQPlatform_Private_1", "likes tea", 3, "2025-01-02 03:04:05.678901"},
		[]any{"user_2", strings.Repeat("长", 30), 1, "2025-01-02 03:04:05"},
		[]any{"QQPlatform_Group_9", strings.Repeat("长", 31), 1, "2025-01-02 03:04:05"},
		[]any{"user_1", "a second memo, same person", 1, "2025-01-02 03:04:05"},
		[]any{"QQPlatform_Channel_5", "a channel", 2, "2025-01-02 03:04:05"},
		[]any{"user_3", "", 2, "2025-01-02 03:04:05"},
	)
	before := folder(t, filepath.Dir(path))
	o := transfer.P1Options{MemoDB: path, MemoLimit: 30}
	w := &p1World{home: h}
	r := w.bring(t, o)
	if r.Memos.Added != 3 || r.Memos.Kept != 1 || len(r.Refused) != 2 || !strings.Contains(fmt.Sprint(r.Refused), "a memo of 31 characters; the limit is 30") {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff([]transfer.P1Unplaced{{Key: "QQPlatform_Channel_5", Memo: true}}, r.Unplaced); d != "" {
		t.Errorf("unplaced (-want +got):\n%s", d)
	}
	out := h.export(t)
	for _, want := range []string{`"content":"likes tea","version":3,"updated_at":"2025-01-`, strings.Repeat("长", 30), "a channel"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if again := w.bring(t, o); again.Memos.Added != 0 || h.export(t) != out {
		t.Errorf("again: %+v", again.Memos)
	}
	if d := cmp.Diff(before, folder(t, filepath.Dir(path))); d != "" {
		t.Errorf("the bot's folder changed (-before +after):\n%s", d)
	}
	for name, path := range map[string]string{
		"no such file": filepath.Join(t.TempDir(), "none.db"), "no database": textFile(t, "this is no database, whatever its name says"),
		"no table": h.Path, "two tables": memoDB(t, "memo_a (user_id, content, version, updated_at); CREATE TABLE memo_b"), "a folder": t.TempDir(),
	} {
		if _, err := transfer.ImportP1(t.Context(), h.db, h.memories, transfer.P1Options{MemoDB: path}); err == nil {
			t.Errorf("%s was imported", name)
		}
	}
}

func textFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder is what lies in a folder: contents by name.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportP1Files(t *testing.T) {
	h := newHome(t, storetest.Engine{Name: store.SQLite})
	w := &p1World{home: h}
	data, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"user_profile.md": "short\n---\n\nbody\r\n", "knowledge_index.json": "[]", "knowledge/KNOWLEDGE_0123abcd.md": "# T\nS\n---\nB", "knowledge/KNOWLEDGE_ffffffff.md": "other",
		"knowledge/notes.txt": "x", "backups/embed_backup_20250101_000000.json": "{}",
	} {
		path := filepath.Join(data, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(data, "knowledge", "KNOWLEDGE_eeeeeeee.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(to, "knowledge"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "knowledge", "KNOWLEDGE_ffffffff.md"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.bring(t, transfer.P1Options{DataDir: data, Home: to})
	if !strings.Contains(fmt.Sprint(r.Skipped), "whose profile is it") || !strings.Contains(fmt.Sprint(r.Skipped), "1 backups") || !strings.Contains(fmt.Sprint(r.Skipped), "a symbolic link") {
		t.Errorf("%+v", r)
	}
	r = w.bring(t, transfer.P1Options{DataDir: data, Home: to, ProfileUser: "10001"})
	if d := cmp.Diff([]string{"profile/QQPlatform_Private_10001.md"}, r.Copied); d != "" || r.Same != 2 || !slices.Equal(r.Differ, []string{"knowledge/KNOWLEDGE_ffffffff.md"}) {
		t.Errorf("%+v (-want +got):\n%s", r, d)
	}
	if d := cmp.Diff(map[string]string{
		"profile/QQPlatform_Private_10001.md": "short\n---\n\nbody\r\n", "knowledge_index.json": "[]", "knowledge/KNOWLEDGE_0123abcd.md": "# T\nS\n---\nB", "knowledge/KNOWLEDGE_ffffffff.md": "mine",
	}, folder(t, to)); d != "" {
		t.Errorf("home (-want +got):\n%s", d)
	}
	for _, id := range []string{"../x", "a/b", "QQPlatform_Group_1", " "} {
		if _, err := transfer.ImportP1(t.Context(), h.db, h.memories, transfer.P1Options{DataDir: data, Home: to, ProfileUser: id}); err == nil {
			t.Errorf("a profile of %q", id)
		}
	}
}
