package index_test

import (
	"testing"

	"reverie/internal/lexical"
	"reverie/vector/index"
)

func TestSearchByWords(t *testing.T) {
	p := index.New(lexical.New(nil))
	for rid, text := range []string{"the kettle whistles at noon", "系统记录了用户身份信息", "清理C盘空间"} {
		if err := p.Put(index.Doc{Meta: index.Meta{RID: int64(rid)}, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]int64{"whistling kettles": 0, "用户身份": 1, "C盘": 2} {
		hits := p.Search(index.Query{Text: query}, nil, 1).Hits
		if len(hits) != 1 || hits[0].RID != want {
			t.Errorf("search %q = %+v, want rid %d", query, hits, want)
		}
	}
}
