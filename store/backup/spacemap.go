package backup

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"reverie/store"
)

// spaceIdentity is what makes two embedding spaces the same.
type spaceIdentity struct {
	print, version string
	dim            int64
}

// mapSpaces gives each embedding space of a backup its row id here: that of the same space
// if it is here, else its own if that is free, else a new one.
func mapSpaces(ctx context.Context, g *gorm.DB, a *archive) (ids map[int64]int64, known map[int64]bool, err error) {
	here, known, top := map[spaceIdentity]int64{}, map[int64]bool{}, int64(0)
	err = eachRow(g, "SELECT id, fingerprint, dim, version FROM spaces", 4, func(v []any) error {
		id, what, ok := identify(v[0], v[1], v[2], v[3])
		if !ok {
			return fmt.Errorf("%w: an embedding space has values of the wrong type", store.ErrDamaged)
		}
		here[what], known[id] = id, true
		top = max(top, id)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	ids = map[int64]int64{}
	var fresh []int64 // that need a new id
	t, _ := tableNamed("spaces")
	var cols []column
	err = a.lines(ctx, t, func(cs []column) error { cols = cs; return nil }, func(_ []byte, v []any) error {
		at := func(name string) any {
			if i := index(cols, name); i >= 0 {
				return v[i]
			}
			return ""
		}
		id, what, ok := identify(at("id"), at("fingerprint"), at("dim"), at("version"))
		if !ok {
			return fmt.Errorf("%w: an embedding space has values of the wrong type", ErrBroken)
		}
		top = max(top, id)
		switch have, ok := here[what]; {
		case ok:
			ids[id] = have
		case known[id]:
			fresh = append(fresh, id)
		default:
			ids[id] = id
		}
		return nil
	})
	for _, id := range fresh {
		top++
		ids[id] = top
	}
	return ids, known, err
}

func identify(id, print, dim, version any) (int64, spaceIdentity, bool) {
	n, ok := id.(int64)
	p, ok2 := print.(string)
	d, ok3 := dim.(int64)
	v, ok4 := version.(string)
	return n, spaceIdentity{p, v, d}, ok && ok2 && ok3 && ok4
}
