package vector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/vector/index"
)

// Search finds the memories that answer the query best, by meaning and by words.
// Filters apply before ranking. Any text is a legal query.
//
// A failing embedder does not fail the search: it is then by words, and Degraded says so.
// Errors: [ErrInvalid], [ErrDenied], those of package caller and of package store.
func (s *Service) Search(ctx context.Context, c caller.Caller, q Query) (Result, error) {
	_, part, err := s.open(c, q.Scope)
	if err != nil {
		return Result{}, err
	}
	if q.TopK == 0 {
		q.TopK = DefaultTopK
	}
	if q.TopK < 1 || q.TopK > MaxTopK {
		return Result{}, fmt.Errorf("%w: top_k %d; allowed: 1 to %d", ErrInvalid, q.TopK, MaxTopK)
	}
	keep, err := s.filter(c, q.Importance, q.Tags)
	if err != nil {
		return Result{}, err
	}
	if err := s.sweep(ctx, part); err != nil {
		return Result{}, err
	}
	found, degraded, err := s.ask(ctx, part, cutRunes(q.Text, MaxQueryRunes), keep, q.TopK)
	if err != nil {
		return Result{}, fmt.Errorf("search memories: %w", err)
	}
	out := Result{Total: found.Considered, Confidence: found.Confidence.String(), Degraded: degraded}
	hits, err := s.join(ctx, c, part, found.Hits)
	if err != nil {
		return Result{}, fmt.Errorf("search memories: %w", err)
	}
	out.Hits = hits
	s.used.mark(hits, time.Now())
	return out, nil
}

// ask searches the index of a partition. degraded says why there was no meaning to go by.
func (s *Service) ask(ctx context.Context, part, text string, keep func(*index.Meta) bool, k int) (found index.Result, degraded string, err error) {
	// Another space may begin to serve between the two steps: then both are done again.
	err = s.inOneSpace(ctx, part, func(cur *spaces.Current) error {
		var q index.Query
		q, degraded = s.embedQuery(ctx, cur, text)
		p, err := s.partition(ctx, part, cur)
		if err != nil {
			return err
		}
		p.mu.RLock()
		defer p.mu.RUnlock()
		found = p.index.Search(q, keep, k)
		return nil
	})
	return found, degraded, err
}

// embedQuery makes the index's query; degraded says why it has no meaning to go by.
func (s *Service) embedQuery(ctx context.Context, cur *spaces.Current, text string) (q index.Query, degraded string) {
	q = index.Query{Text: text}
	if cur.Embedder == nil {
		return q, cur.Why
	}
	v, err := cur.Embedder.EmbedQuery(ctx, text)
	if err != nil {
		s.log.Warn("search by words only", "error", err)
		return q, fmt.Sprintf("the embedder failed (%v): found by words only; writes are kept and get their vectors later; check the embedder with: reverie status", err)
	}
	q.Vector = v
	q.DenseTrusted = true
	if j, ok := cur.Embedder.(languageJudge); ok {
		q.DenseTrusted = j.Understands(text)
	}
	return q, ""
}

// filter says which memories a query may return at all.
func (s *Service) filter(c caller.Caller, imp Importance, tags []string) (func(*index.Meta) bool, error) {
	imp, err := ParseImportance(string(imp))
	if err != nil {
		return nil, err
	}
	if tags, err = s.checkTags(tags); err != nil {
		return nil, err
	}
	hidePrivate := c.InGroup()
	if !hidePrivate && imp == "" && len(tags) == 0 {
		return nil, nil
	}
	grade := imp.grade()
	return func(m *index.Meta) bool {
		if hidePrivate && m.Private || imp != "" && m.Importance != grade {
			return false
		}
		for _, t := range tags {
			if !slices.Contains(m.Tags, t) {
				return false
			}
		}
		return true
	}, nil
}

// join fetches the records of the hits. A hit that changed since the index was read is
// dropped if it is no longer live, or no longer the caller's to see.
func (s *Service) join(ctx context.Context, c caller.Caller, part string, hits []index.Hit) ([]Hit, error) {
	out := []Hit{}
	if len(hits) == 0 {
		return out, nil
	}
	rids := make([]int64, len(hits))
	for i, h := range hits {
		rids[i] = h.RID
	}
	rows := make(map[int64]record, len(hits))
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		rs, err := query(g, "WHERE m.rid IN ? AND m.part = ? AND m.state = 'live'", rids, part)
		for _, r := range rs {
			rows[r.rid] = r
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		r, ok := rows[h.RID]
		if !ok || !visible(c, &r.Memory) {
			continue
		}
		hit := Hit{Memory: r.Memory, Score: h.Score, Match: Match(h.Match.String())}
		if h.HasDistance && hit.Match != ByWords {
			hit.Distance = &h.Distance
		}
		out = append(out, hit)
	}
	return out, nil
}

// similar returns the memories of the partition that say nearly the same as content,
// other than the one with the id except.
func (s *Service) similar(ctx context.Context, c caller.Caller, part, content string, emb embedded, except string) ([]Similar, error) {
	keep, err := s.filter(c, "", nil)
	if err != nil {
		return nil, err
	}
	var near []index.Hit
	err = s.inOneSpace(ctx, part, func(cur *spaces.Current) error {
		p, err := s.partition(ctx, part, cur)
		if err != nil {
			return err
		}
		if emb.space != cur.Space {
			emb.vecs = nil
		}
		p.mu.RLock()
		defer p.mu.RUnlock()
		near = p.index.Similar(emb.vecs, content, keep, similarShown+1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for near duplicates: %w", err)
	}
	hits, err := s.join(ctx, c, part, near)
	if err != nil {
		return nil, fmt.Errorf("look for near duplicates: %w", err)
	}
	var out []Similar
	for _, h := range hits {
		if h.ID == except || len(out) == similarShown {
			continue
		}
		sim := Similar{ID: h.ID, Content: h.Content}
		if h.Distance != nil {
			sim.Distance = *h.Distance
		}
		out = append(out, sim)
	}
	return out, nil
}

// Of the candidates shown for a full partition, at most candidatesNear are about the
// same as what was to be written, and score at least candidateScore for it.
const (
	candidatesShown = 5
	candidatesNear  = 3
	candidateScore  = 0.5
)

// withCandidates adds to a [LimitError] the memories that are best merged or deleted:
// first those about the same as content, which was to be written, then the least
// important and longest unused.
func (s *Service) withCandidates(ctx context.Context, c caller.Caller, part string, err error, content string) error {
	var full *LimitError
	if !errors.As(err, &full) {
		return err
	}
	for _, h := range s.near(ctx, c, part, content) {
		full.Candidates = append(full.Candidates, h.Memory)
	}
	rerr := s.db.Read(ctx, func(g *gorm.DB) error {
		rs, err := query(g, `WHERE m.part = ? AND m.state = 'live' AND (m.private = 0 OR ?)
			ORDER BY CASE m.importance WHEN 'low' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, CASE WHEN m.used_at > m.updated_at THEN m.used_at ELSE m.updated_at END, m.rid LIMIT ?`,
			part, !c.InGroup(), candidatesShown+candidatesNear)
		for _, r := range rs {
			if len(full.Candidates) < candidatesShown && !slices.ContainsFunc(full.Candidates, func(m Memory) bool { return m.ID == r.ID }) {
				full.Candidates = append(full.Candidates, r.Memory)
			}
		}
		return err
	})
	if rerr != nil {
		s.log.Warn("candidates for a full partition", "error", rerr)
	}
	return err
}

// near finds what may be merged with content; a failure costs only the suggestion.
func (s *Service) near(ctx context.Context, c caller.Caller, part, content string) []Hit {
	keep, err := s.filter(c, "", nil)
	if err != nil || content == "" {
		return nil
	}
	found, _, err := s.ask(ctx, part, content, keep, candidatesNear)
	if err != nil {
		return nil
	}
	hits, err := s.join(ctx, c, part, found.Hits)
	if err != nil {
		s.log.Warn("candidates for a full partition", "error", err)
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < candidateScore })
}

// cutRunes cuts s to at most n code points.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
