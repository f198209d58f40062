package transform

import "testing"

// Whether a mask leaves all values unchanged follows from its parameters alone. One mask in the
// chain that changes a value is enough for the answer no.
func TestMasksThatLeaveAll(t *testing.T) {
	same := map[string]map[string]float64{"a": {"a": 1}, "b": {"a": 0, "b": 1}}
	for name, c := range map[string]struct {
		m    Params
		want bool
	}{
		"keep 1":    {&PRAM{Keep: ptr(1.0), Categories: []string{"a", "b"}}, true},
		"keep less": {&PRAM{Keep: ptr(0.999), Categories: []string{"a", "b"}}, false},
		"a matrix":  {&PRAM{Matrix: same}, true},
		"of which one moves": {&PRAM{Matrix: map[string]map[string]float64{"a": {"a": 1}, "b": {"a": 0.01, "b": 0.99}}},
			false},
		"a row without itself": {&PRAM{Matrix: map[string]map[string]float64{"a": {"b": 1}, "b": {"b": 1}}}, false},
		"one frequency": {
			&PRAM{Keep: ptr(0.5), Categories: []string{"a", "b"}, Invariant: true,
				Frequencies: map[string]float64{"a": 9, "b": 0}}, true},
		"two frequencies": {
			&PRAM{Keep: ptr(0.5), Categories: []string{"a", "b"}, Invariant: true,
				Frequencies: map[string]float64{"a": 9, "b": 1}}, false},
		"frequencies counted": {&PRAM{Keep: ptr(0.5), Categories: []string{"a", "b"}, Invariant: true}, false},
		"a map to itself":     {&Recode{Map: map[string]string{"a": "a", "b": "b"}}, true},
		"a file to itself":    {&Recode{File: "f", Table: map[string]string{"a": "a"}}, true},
		"one that becomes b":  {&Recode{Map: map[string]string{"a": "b", "b": "b"}}, false},
		"a file with one":     {&Recode{File: "f", Table: map[string]string{"a": "b"}}, false},
		"others":              {&Recode{Map: map[string]string{"a": "a"}, Other: ptr("x")}, false},
		"breaks":              {&Recode{Breaks: []float64{1, 2}}, false},
		"a swap of nobody":    {&Swap{Rate: ptr(0.0)}, true},
		"a swap of some":      {&Swap{Rate: ptr(0.1)}, false},
		"noise":               {&Noise{Columns: []string{"a"}, SD: amount(1)}, false},
	} {
		if got := LeavesAll(c.m); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
