package tabletest

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// program is the input of verify/interop/highs.py: a published set of tables. A null bound is
// infinite.
type program struct {
	Value  []float64  `json:"value"`
	Hidden []bool     `json:"hidden"`
	Lower  []*float64 `json:"lower"`
	Upper  []*float64 `json:"upper"`
	Sums   [][]int32  `json:"sums"` // the total, then its parts
	Cells  []int32    `json:"cells"`
}

// HiGHS computes the ranges of cells with another solver, over the whole set at once:
// without components, without the shuttle and with all rows. It skips the test if
// SDLFILTER_HIGHS does not name a Python with highspy (scripts/test-interop.sh installs
// one).
func HiGHS(t testing.TB, questions []audit.Question, cells [][]int32) (low, high [][]float64) {
	t.Helper()
	python := os.Getenv("SDLFILTER_HIGHS")
	if python == "" {
		t.Skip("SDLFILTER_HIGHS names no Python with highspy")
	}
	var input bytes.Buffer
	write := json.NewEncoder(&input)
	for i, q := range questions {
		p := program{Value: q.Value, Hidden: q.Hidden, Cells: cells[i]}
		zero := 0.0
		for c := range q.Value {
			lower, upper := &zero, (*float64)(nil)
			if q.Lower != nil {
				lower, upper = finite(q.Lower[c]), finite(q.Upper[c])
			}
			p.Lower, p.Upper = append(p.Lower, lower), append(p.Upper, upper)
		}
		for s := range q.Set.Sums() {
			sum := q.Set.Sum(s)
			p.Sums = append(p.Sums, append([]int32{sum.Total}, sum.Parts...))
		}
		if err := write.Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join("verify", "interop", "highs.py") // of the root of the module, above the folder of the tests
	for up := 0; up < 6; up++ {
		if _, err := os.Stat(script); err == nil {
			break
		}
		script = filepath.Join("..", script)
	}
	command := exec.Command(python, script)
	command.Stdin, command.Stderr = &input, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	read := json.NewDecoder(bytes.NewReader(out))
	for i := range questions {
		var ranges [][2]*float64
		if err := read.Decode(&ranges); err != nil || len(ranges) != len(cells[i]) {
			t.Fatalf("problem %d: %d ranges of %d cells (%v)", i, len(ranges), len(cells[i]), err)
		}
		l, h := make([]float64, len(ranges)), make([]float64, len(ranges))
		for k, r := range ranges {
			l[k], h[k] = math.Inf(-1), math.Inf(1)
			if r[0] != nil {
				l[k] = *r[0]
			}
			if r[1] != nil {
				h[k] = *r[1]
			}
		}
		low, high = append(low, l), append(high, h)
	}
	return low, high
}

func finite(v float64) *float64 {
	if math.IsInf(v, 0) {
		return nil
	}
	return &v
}
