package mirror

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorm.io/gorm"

	"reverie/vector/chroma"
)

// verifyTolerance is how far a component may be off: numbers are written with the digits
// that give the same float32 again, but a proxy or another server may write fewer.
const verifyTolerance = 1e-5

// maxSamples bounds the ids that a report lists.
const maxSamples = 20

// VerifyOptions of [Mirror.Verify]; the zero value is the default of every field.
type VerifyOptions struct {
	// Repair sends the partitions that differ once more, with the next delivery.
	Repair bool
	// Progress is called now and then with the partitions compared and to be compared.
	Progress func(done, total int)
	// Waiting is called while another process has the lease.
	Waiting func(holder string)
}

// Verified compares the server with SQL. The counts are of records, which are passages.
type Verified struct {
	Partitions int `json:"partitions"` // compared
	Pending    int `json:"pending"`    // not compared: something of them is still to be delivered
	Records    int `json:"records"`    // equal
	Missing    int `json:"missing"`    // not on the server
	Extra      int `json:"extra"`      // on the server alone
	Different  int `json:"different"`  // with another vector, partition or privacy
	// Differing lists the partitions with differences, at most 20, and what is wrong.
	Differing []Difference `json:"differing"`
}

// Difference is a partition in which the server is not as it should be.
type Difference struct {
	Part      string `json:"part"`
	Missing   int    `json:"missing,omitempty"`
	Extra     int    `json:"extra,omitempty"`
	Different int    `json:"different,omitempty"`
}

// Equal reports whether there was no difference.
func (v Verified) Equal() bool { return v.Missing+v.Extra+v.Different == 0 }

// Verify compares every record on the server with SQL: ids, partition, privacy, vector.
// Nothing is delivered meanwhile; it waits for another process that delivers to have a
// pause. It reads everything: about 10,000 records a second.
func (m *Mirror) Verify(ctx context.Context, o VerifyOptions) (Verified, error) {
	v := Verified{Differing: []Difference{}}
	err := m.underLease(ctx, waiting(o.Waiting), func(ctx context.Context, s *session) error {
		var err error
		if s.o, err = m.look(ctx); err != nil || s.o.Space == 0 {
			return err
		}
		if err := m.call(func() error { return m.chroma.CheckDatabase(ctx) }); err != nil && !chroma.IsNotFound(err) {
			return err
		}
		if s.plan, err = m.survey(ctx, s.o); err != nil {
			return err
		}
		parts, err := s.settled(ctx)
		if err != nil {
			return err
		}
		var wrong []string
		done := 0
		for b := range s.buckets {
			if err := s.compare(ctx, b, parts[b], &v, &wrong); err != nil {
				return err
			}
			if done += len(parts[b]); o.Progress != nil {
				o.Progress(done, s.o.partitions)
			}
		}
		if !o.Repair || len(wrong) == 0 {
			return nil
		}
		defer m.Wake()
		return s.maintain(ctx, func(g *gorm.DB) error {
			for _, part := range wrong {
				if err := put(g, s.o.Space, part, unknown); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return v, fmt.Errorf("verify the mirror: %w", err)
	}
	return v, nil
}

// settled lists the partitions of each bucket, with the version that the server is to have.
func (s *session) settled(ctx context.Context) (map[int]map[string]int64, error) {
	var out map[int]map[string]int64
	err := s.m.db.Read(ctx, func(g *gorm.DB) error {
		out = map[int]map[string]int64{}
		rows, err := g.Raw("SELECT p.key, p.version, COALESCE(o.version, -2) FROM partitions p LEFT JOIN outbox o ON o.space = ? AND o.part = p.key", s.o.Space).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var part string
			var version, sent int64
			if err := rows.Scan(&part, &version, &sent); err != nil {
				return err
			}
			if version != sent || s.reset {
				sent = unknown
			}
			b := bucketOf(part, s.buckets)
			if out[b] == nil {
				out[b] = map[string]int64{}
			}
			out[b][part] = sent
		}
		return rows.Err()
	})
	return out, err
}

// compare compares one collection with the partitions that belong into it.
func (s *session) compare(ctx context.Context, bucket int, parts map[string]int64, v *Verified, wrong *[]string) error {
	byPart := map[string]map[string]chroma.Record{}
	if c, ok := s.cols[bucket]; ok {
		err := s.m.call(func() error {
			for page, err := range s.m.chroma.Pages(ctx, c.ID, chroma.GetQuery{Include: chroma.Include{Metadata: true, Embeddings: true}}) {
				if err != nil {
					return err
				}
				for _, r := range page {
					part, _ := r.Metadata["part"].(string)
					if byPart[part] == nil {
						byPart[part] = map[string]chroma.Record{}
					}
					byPart[part][r.ID] = r
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for part, version := range parts {
		have := byPart[part]
		delete(byPart, part)
		if version < 0 {
			v.Pending++
			continue
		}
		d, equal, settled, err := s.comparePart(ctx, part, version, have)
		if err != nil {
			return err
		}
		if !settled {
			v.Pending++
			continue
		}
		v.Partitions++
		v.Records += equal
		v.count(d, wrong)
	}
	for part, recs := range byPart { // of partitions that are not there, or belong elsewhere
		v.count(Difference{Part: part, Extra: len(recs)}, wrong)
	}
	return nil
}

// comparePart compares one partition; settled is false if it changed meanwhile. have is
// used up.
func (s *session) comparePart(ctx context.Context, part string, version int64, have map[string]chroma.Record) (d Difference, equal int, settled bool, err error) {
	d.Part = part
	var at place
	for more := true; more; {
		var changes []change
		if changes, more, err = s.m.changes(ctx, s.o, part, unknown, &at); err != nil {
			return d, 0, false, err
		}
		for _, c := range changes {
			for _, want := range s.m.records(part, c) {
				got, ok := have[want.ID]
				delete(have, want.ID)
				switch {
				case !ok:
					d.Missing++
				case sameRecord(want, got):
					equal++
				default:
					d.Different++
				}
			}
		}
	}
	d.Extra = len(have)
	now, err := s.m.db.Version(ctx, part)
	return d, equal, now == version, err
}

func sameRecord(want, got chroma.Record) bool {
	return got.Metadata["private"] == want.Metadata["private"] && got.Metadata["memory"] == want.Metadata["memory"] &&
		slices.EqualFunc(want.Embedding, got.Embedding, func(a, b float32) bool { return math.Abs(float64(a-b)) <= verifyTolerance })
}

func (v *Verified) count(d Difference, wrong *[]string) {
	if d.Missing+d.Extra+d.Different == 0 {
		return
	}
	v.Missing += d.Missing
	v.Extra += d.Extra
	v.Different += d.Different
	if len(v.Differing) < maxSamples {
		v.Differing = append(v.Differing, d)
	}
	if d.Part != generationRow { // a record without a partition is for a rebuild
		*wrong = append(*wrong, d.Part)
	}
}
