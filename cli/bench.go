package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// benchCmd groups the measurements behind the numbers in the README.
type benchCmd struct {
	Retrieval benchRetrievalCmd `cmd:"" help:"Measure how well search answers, on evaluation sets in JSONL."`
	Speed     benchSpeedCmd     `cmd:"" help:"Measure start-up, reads and writes of a real server over stdio."`
	Scale     benchScaleCmd     `cmd:"" help:"Measure search over very many memories in very many partitions."`
}

func (*benchCmd) needsConfig() bool { return false }

// spread is a set of durations.
type spread []time.Duration

// at returns the q-quantile, 0 to 1, by the nearest rank.
func (s spread) at(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	d := slices.Sorted(slices.Values(s))
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

// quantiles is a spread as it is printed.
type quantiles struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func (s spread) quantiles() quantiles {
	return quantiles{len(s), ms(s.at(.5)), ms(s.at(.95)), ms(s.at(.99)), ms(s.at(1))}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (q quantiles) String() string {
	return fmt.Sprintf("p50 %7.2f  p95 %7.2f  p99 %7.2f  max %7.2f ms  (n=%d)", q.P50, q.P95, q.P99, q.Max, q.N)
}

// Parts of made-up facts: enough of them that ten thousand differ.
var (
	factNames  = strings.Fields("Ann Bo Carla Dmitri Elif Femi Greta Hiro Ines Jamal Kaya Lars Mina Noor Oskar Priya Quentin Rosa Sven Tala")
	factVerbs  = []string{"keeps notes about", "is learning", "sold", "wants to visit", "repaired", "is allergic to", "collects", "gave up", "teaches", "wrote a letter about", "dreams of", "is saving money for"}
	factThings = []string{"old radios", "the harbour in Porto", "a wooden canoe", "walnuts", "Icelandic grammar", "the blue bicycle", "her grandmother's recipes", "a night train to Vienna", "bonsai trees", "the choir", "solar panels", "a lighthouse", "beekeeping", "the north wall", "chess openings", "a second-hand piano", "the garden pond", "mountain huts", "silver coins", "a documentary film"}
	factTimes  = []string{"since last spring", "on Tuesdays", "before the move", "with two friends", "after work", "for the third year", "in the cellar", "without telling anyone", "every winter", "because of the neighbour"}
)

// fact is the i-th made-up fact, about twelve words long.
func fact(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	pick := func(s []string) string { return s[r.IntN(len(s))] }
	return fmt.Sprintf("%s %s %s %s, note %d about %s.", pick(factNames), pick(factVerbs), pick(factThings), pick(factTimes), i, pick(factThings))
}

// question is the i-th made-up question, about twelve words long.
func question(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 11))
	pick := func(s []string) string { return s[r.IntN(len(s))] }
	return fmt.Sprintf("What did %s say about %s and %s %s, number %d?", pick(factNames), pick(factThings), pick(factThings), pick(factTimes), i)
}

// residentMB is the memory of a process in megabytes, 0 where the system does not say.
func residentMB(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1024
		}
	}
	return 0
}
