package report

import (
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// The published inverse undoes the matrix: expected counts become the original ones.
func TestNoteOfPRAM(t *testing.T) {
	p := [][]float64{{0.9, 0.1, 0}, {0.2, 0.7, 0.1}, {0.05, 0.05, 0.9}}
	original := []float64{700, 250, 50}
	released := make([]float64, 3)
	for k, n := range original {
		for l, v := range p[k] {
			released[l] += n * v
		}
	}
	q, ok := inverseOf(p)
	if !ok {
		t.Fatal("no inverse")
	}
	for l, want := range original {
		got := 0.0
		for k, n := range released {
			got += n * q[k][l]
		}
		if !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("category %d: %v, want %v", l, got, want)
		}
	}
	if _, ok := inverseOf([][]float64{{0.5, 0.5}, {0.5, 0.5}}); ok {
		t.Error("a matrix with equal rows has an inverse")
	}
	pram := transform.Randomising{Categories: []string{"a", "b", "c"}, Matrix: p}
	for name, c := range map[string]struct {
		of         publishedColumn
		correction string
		want       string
	}{
		"pram":            {publishedColumn{actions: []transform.Action{pram}}, CorrectionFormula, "a: 1."},
		"pram of numbers": {publishedColumn{measured: true, actions: []transform.Action{pram}}, CorrectionFormula, "P⁻¹"},
		"not published": {publishedColumn{actions: []transform.Action{transform.Randomising{}}}, CorrectionUnpublished,
			"not published"},
		"recode, then": {publishedColumn{actions: []transform.Action{transform.Recoding{}, pram}}, CorrectionFormula,
			"P⁻¹"},
		"recode": {publishedColumn{actions: []transform.Action{transform.Recoding{}}}, CorrectionUnneeded,
			"cannot be told apart"},
		"no way back": {
			publishedColumn{
				actions: []transform.Action{
					transform.Randomising{Categories: []string{"a", "b"}, Matrix: [][]float64{{1, 0}, {1, 0}}}}}, CorrectionNone,
			"no inverse"},
		"pram, then":       {publishedColumn{actions: []transform.Action{pram, transform.Recoding{}}}, "", ""},
		"twice":            {publishedColumn{actions: []transform.Action{pram, pram}}, "", ""},
		"with a swap":      {publishedColumn{actions: []transform.Action{pram, transform.Exchange{}}}, "", ""},
		"with the unknown": {publishedColumn{actions: []transform.Action{nil, pram}}, "", ""},
		"midpoints":        {publishedColumn{actions: []transform.Action{transform.Recoding{Midpoints: true}}}, "", ""},
	} {
		list, correction := c.of.categories()
		text := ""
		for _, n := range list {
			text += n.Text + n.Formula
		}
		if correction != c.correction || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, %s", name, correction, text)
		}
	}
}
