package embedding

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNumbers(t *testing.T) {
	tests := []struct {
		in   string
		want []float32
		err  error
	}{
		{"[1,-2.5,3e-2]", []float32{1, -2.5, .03}, nil},
		{" [ 1 ,\n2 ] ", []float32{1, 2}, nil},
		{"[1e-60]", []float32{0}, nil},
		{"[]", nil, errEmpty},
		{"[ ]", nil, errEmpty},
		{"null", nil, errNotNumbers},
		{`"AACAPw=="`, nil, errNotNumbers},
		{"{}", nil, errNotNumbers},
		{"[null,1]", nil, errNoNumber},
		{"[[1]]", nil, errNoNumber},
		{`["NaN"]`, nil, errNoNumber},
		{"[NaN]", nil, errNoNumber},
		{"[1e39]", nil, errNoNumber},
		{"[1,]", nil, errNoNumber},
		{"[true]", nil, errNoNumber},
		{"[" + strings.Repeat("1,", maxNumbers) + "1]", nil, errNotNumbers},
	}
	for _, tt := range tests {
		got, err := parseNumbers([]byte(tt.in))
		if !errors.Is(err, tt.err) || !cmp.Equal(tt.want, got) {
			t.Errorf("%.40q: %v, %v", tt.in, got, err)
		}
	}
}

func TestUnit(t *testing.T) {
	tests := []struct {
		name string
		in   []float32
		err  error
	}{
		{"plain", []float32{3, 4}, nil},
		{"tiny", []float32{1e-38, 1e-38}, nil},
		{"subnormal", []float32{math.SmallestNonzeroFloat32}, nil},
		{"huge", []float32{math.MaxFloat32, math.MaxFloat32}, nil},
		{"none", nil, errEmpty},
		{"zeros", []float32{0, 0}, errZero},
		{"NaN", []float32{float32(math.NaN()), 1}, errNoNumber},
		{"infinite", []float32{float32(math.Inf(1)), 1}, errNoNumber},
	}
	for _, tt := range tests {
		err := unit(tt.in)
		var square float64
		for _, x := range tt.in {
			square += float64(x) * float64(x)
		}
		if !errors.Is(err, tt.err) || err == nil && math.Abs(square-1) > 1e-6 {
			t.Errorf("%s: %v, error %v", tt.name, tt.in, err)
		}
	}
}

func TestInOrder(t *testing.T) {
	c := &conn{voice: "test"}
	vector := func(index int, x float32) openaiVector { return openaiVector{index, numbers{v: []float32{x}}} }
	tests := []struct {
		name string
		in   []openaiVector
		want []float32 // nil for an error
	}{
		{"in order", []openaiVector{vector(0, 5), vector(1, 6)}, []float32{5, 6}},
		{"shuffled", []openaiVector{vector(2, 7), vector(0, 5), vector(1, 6)}, []float32{5, 6, 7}},
		{"not numbered", []openaiVector{vector(0, 5), vector(0, 6)}, []float32{5, 6}},
		{"twice", []openaiVector{vector(1, 5), vector(1, 6)}, nil},
		{"beyond", []openaiVector{vector(0, 5), vector(2, 6)}, nil},
		{"negative", []openaiVector{vector(-1, 5), vector(0, 6)}, nil},
	}
	for _, tt := range tests {
		got, err := inOrder(c, tt.in)
		if (err == nil) != (tt.want != nil) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		for i := range tt.want {
			if got[i].v[0] != tt.want[i] {
				t.Errorf("%s: %v", tt.name, got)
			}
		}
	}
}

// answering is a transport with one answer to everything.
type answering struct{ body string }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// FuzzAnswer: whatever a server answers, there are unit vectors of the measured
// length, one for each text, or an error.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"embeddings":[[1,2,3],[4,5,6]]}`, `{"embeddings":[[1,2,3]]}`, `{"embeddings":[[1,2],[3,4]]}`, `{"embeddings":[[0,0,0],[1,2,null]]}`,
		`{"data":[{"index":1,"embedding":[1,2,3]},{"index":0,"embedding":[4,5,6]}]}`, `{"data":[{"embedding":[1,2,3]},{"embedding":"AAAA"}]}`,
		`{"embeddings":[null,[]]}`, `{"error":"no"}`, `[]`, `null`, "", "<html>", `{"embeddings":[[1e38,1e38,-1e38],[1e-45,0,0]]}`, `{"embeddings":null}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, open := range []func(RemoteOptions) (*Remote, error){NewOllama, NewOpenAI} {
			r, err := open(RemoteOptions{Model: "m", QueryCache: -1})
			if err != nil {
				t.Fatal(err)
			}
			r.Hasten()
			r.conn.client.Transport = answering{body}
			m := &measured{space: Space{Model: "m", Dim: 3}}
			m.passage.Store(fullCost)
			m.batch.Store(2)
			r.known.Store(m)
			documents, err := r.EmbedDocuments(context.Background(), []string{"one", "two"})
			if err == nil && (len(documents) != 2 || len(documents[0]) != 1 || len(documents[1]) != 1) || err != nil && asRemote(err) == nil {
				t.Fatalf("%v, error %v", documents, err)
			}
			for _, d := range documents {
				for _, v := range d {
					checkUnit3(t, v)
				}
			}
			v, err := r.EmbedQuery(context.Background(), "one")
			if err == nil {
				checkUnit3(t, v)
			} else if asRemote(err) == nil {
				t.Fatal(err)
			}
			r.Close()
		}
	})
}

func checkUnit3(t *testing.T, v []float32) {
	t.Helper()
	if len(v) != 3 {
		t.Fatalf("%d numbers", len(v))
	}
	if square := float64(v[0])*float64(v[0]) + float64(v[1])*float64(v[1]) + float64(v[2])*float64(v[2]); !(math.Abs(square-1) < 1e-5) {
		t.Fatalf("squared length %v", square)
	}
}
