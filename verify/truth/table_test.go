package truth

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// table contains the worst ratio of each chain and figure.
type table struct {
	rows  []string
	worst map[string]map[string]*span
}

// span is the smallest and the greatest ratio of reported to true figures, and whether some of them
// are declared approximate.
type span struct {
	low, high   float64
	approximate bool
}

// columnsOf are the columns of the table: targets of one kind share a column.
var columnsOf = []struct {
	title string
	names []string
}{
	{"U", []string{utility}},
	{"typical, index", []string{typicalIndex}},
	{"percentile, index", []string{"p01 index", "p10 index", "p50 index", "p90 index", "p99 index"}},
	{"extreme, index", []string{"min index", "max index"}},
	{"percentile, position", []string{"p01 position", "p10 position", "p50 position", "p90 position", "p99 position"}},
	{"extreme, position", []string{"min position", "max position"}},
	{"any, mean",
		[]string{typicalMean, "min mean", "p01 mean", "p10 mean", "p50 mean", "p90 mean", "p99 mean", "max mean"}},
}

func (r *table) add(row string, list []outcome) {
	if r.worst == nil {
		r.worst = map[string]map[string]*span{}
	}
	if r.worst[row] == nil {
		r.rows = append(r.rows, row)
		r.worst[row] = map[string]*span{}
	}
	for _, o := range list {
		for _, c := range columnsOf {
			for _, name := range c.names {
				if name != o.name || math.IsNaN(o.ratio) {
					continue
				}
				s := r.worst[row][c.title]
				if s == nil {
					s = &span{math.Inf(1), math.Inf(-1), false}
					r.worst[row][c.title] = s
				}
				s.low, s.high = min(s.low, o.ratio), max(s.high, o.ratio)
				s.approximate = s.approximate || o.reported.approximate
			}
		}
	}
}

func (s *span) String() string {
	if s == nil {
		return "–"
	}
	text := func(v float64) string {
		switch {
		case math.IsInf(v, 1):
			return "∞"
		case v >= 10 || v < 0.01:
			return fmt.Sprintf("%.2g", v)
		}
		return fmt.Sprintf("%.2f", v)
	}
	out := text(s.low)
	if high := text(s.high); high != out {
		out += " – " + high
	}
	if s.approximate {
		out += " ≈"
	}
	return out
}

func (r *table) markdown() string {
	var b strings.Builder
	b.WriteString("| masks |")
	for _, c := range columnsOf {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columnsOf)) + "\n")
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| %s |", row)
		for _, c := range columnsOf {
			fmt.Fprintf(&b, " %v |", r.worst[row][c.title])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Marks around the table in docs/assessment.md.
const (
	tableBegins = "<!-- table of make test-truth -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// write logs the table and writes it between the marks in the file named by -table.
func (r *table) write(t *testing.T) {
	t.Helper()
	if len(r.rows) == 0 {
		return
	}
	t.Logf("reported over true\n%s", r.markdown())
	if *tableFlag == "" {
		return
	}
	if err := between(*tableFlag, tableBegins, tableEnds, r.markdown()); err != nil {
		t.Fatal(err)
	}
}
