package perturb

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// The tolerances of ReadTable for probabilities that were rounded before they were written: of their sum, and of the
// expectation of a change.
const (
	sumTolerance  = 1e-6
	biasTolerance = 1e-4
)

// ReadTable reads a table of changes in the format that the R package ptable exports: a line with the names i, j, p and
// others, then a line for each count i, the count j as which it is published, and the probability p of that, separated
// by ; , or a tab. The counts i are 0, 1, 2, … without a gap, and the last one stands for all greater counts. A count
// of 0 must stay 0, the probabilities of each count must add up to 1, and their expectation must be the count. Problems
// name lines or counts.
func ReadTable(in io.Reader) (*Table, check.Problems) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, check.Problems{{Text: "cannot be read"}}
	}
	r := &tableReader{}
	r.read(strings.TrimPrefix(string(text), "\ufeff"))
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	t := &Table{}
	for i := range r.rows {
		t.add(i, r.rows[i], &r.problems)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	_, t.noise.Variance = moments(t.rows[len(t.rows)-1].change, t.rows[len(t.rows)-1].p)
	return t, nil
}

// Noise returns the greatest change of a table, the variance of the change of great counts, and the least published
// count above 0.
func (t *Table) Noise() Noise { return t.noise }

// tableReader holds the probabilities of a table while it is read.
type tableReader struct {
	i, j, p, v, kind int // columns; -1: none
	rows             []map[int]float64
	problems         check.Problems
}

func (r *tableReader) wrong(line int, format string, args ...any) {
	r.problems.Addf(fmt.Sprintf("line %d", line), format, args...)
}

func (r *tableReader) read(text string) {
	head, _, _ := strings.Cut(text, "\n")
	c := csv.NewReader(strings.NewReader(text))
	if at := strings.IndexAny(head, ";,\t"); at >= 0 {
		c.Comma = rune(head[at])
	}
	names, err := c.Read()
	if err != nil {
		r.wrong(1, "must have the names i, j and p")
		return
	}
	for k := range names {
		names[k] = strings.ToLower(strings.TrimSpace(names[k]))
	}
	for _, f := range []struct {
		name string
		at   *int
	}{{"i", &r.i}, {"j", &r.j}, {"p", &r.p}, {"v", &r.v}, {"type", &r.kind}} {
		*f.at = slices.Index(names, f.name)
	}
	if r.i < 0 || r.j < 0 || r.p < 0 {
		r.wrong(1, "must have the names i, j and p")
		return
	}
	for line := 2; ; line++ {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.wrong(line, "must have as many fields as the first line")
			return
		}
		if r.row(record, line); len(r.problems) >= 10 {
			return
		}
	}
}

// row enters the probability of one change.
func (r *tableReader) row(record []string, line int) {
	field := func(at int) string { return strings.TrimSpace(record[at]) }
	i, wrongI := strconv.Atoi(field(r.i))
	j, wrongJ := strconv.Atoi(field(r.j))
	p, wrongP := strconv.ParseFloat(field(r.p), 64)
	switch {
	case wrongI != nil || wrongJ != nil || i < 0 || j < 0 || i > 2*largestMax || j-i > largestMax || i-j > largestMax:
		r.wrong(line, "i and j must be whole numbers of at least 0, i at most %d, that differ by at most %d", 2*largestMax,
			largestMax)
	case wrongP != nil || !(p >= 0 && p <= 1):
		r.wrong(line, "p must be between 0 and 1, with a decimal point")
	case r.kind >= 0 && field(r.kind) != "all" && field(r.kind) != "":
		r.wrong(line, "type must be all: a table for magnitudes (even, odd) is not for counts")
	case r.v >= 0 && field(r.v) != strconv.Itoa(j-i):
		r.wrong(line, "v must be j − i")
	case i > len(r.rows) || len(r.rows) == 0 && i > 0:
		r.wrong(line, "count %d must come before", len(r.rows))
	default:
		if i == len(r.rows) {
			r.rows = append(r.rows, map[int]float64{})
		}
		if _, again := r.rows[i][j]; again {
			r.wrong(line, "the change of %d to %d is there twice", i, j)
		}
		r.rows[i][j] = p
	}
}

// add adds the row of a count.
func (t *Table) add(count int, to map[int]float64, problems *check.Problems) {
	var changes []int64
	var p []float64
	for _, j := range slices.Sorted(maps.Keys(to)) {
		if to[j] > 0 {
			changes, p = append(changes, int64(j-count)), append(p, to[j])
			t.noise.Max = max(t.noise.Max, j-count, count-j)
			if j > 0 && (t.noise.Least == 0 || j < t.noise.Least) {
				t.noise.Least = j
			}
		}
	}
	at, sum, mean := fmt.Sprintf("count %d", count), 0.0, 0.0
	for k, q := range p {
		sum += q
		mean += q * float64(changes[k])
	}
	switch {
	case math.Abs(sum-1) > sumTolerance:
		problems.Addf(at, "the probabilities must add up to 1, got %.8g", sum)
	case count == 0 && len(changes) != 1 || count == 0 && changes[0] != 0:
		problems.Addf(at, "must stay 0: who has nobody in a cell would otherwise be shown somebody")
	case math.Abs(mean) > biasTolerance:
		problems.Addf(at, "the expectation must be the count, so that the change is unbiased; got a mean change of %.6g",
			mean)
	default:
		t.rows = append(t.rows, finished(changes, p))
	}
}
