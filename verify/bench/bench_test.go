package main

import (
	"maps"
	"testing"
)

func TestParseBenchmarks(t *testing.T) {
	list, err := parseBenchmarks([]byte(`goos: linux
pkg: example
BenchmarkSpeed/tree/noise=10-2         	       1	  31054836 ns/op	         1.393 MB-above
BenchmarkExplore-2 	       1	2800000000 ns/op	         7.000 ns/value	      12 allocs/op
BenchmarkOneCore 	       1	1000000000 ns/op
PASS
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []benchmark{
		{"Speed/tree/noise=10", 0.031054836, map[string]float64{"ns/op": 31054836, "MB-above": 1.393}},
		{"Explore", 2.8, map[string]float64{"ns/op": 2.8e9, "ns/value": 7, "allocs/op": 12}},
		{"OneCore", 1, map[string]float64{"ns/op": 1e9}},
	}
	if len(list) != len(want) {
		t.Fatalf("found %d benchmarks: %v", len(list), list)
	}
	for i, b := range list {
		if b.name != want[i].name || b.seconds != want[i].seconds || !maps.Equal(b.metrics, want[i].metrics) {
			t.Errorf("found %v, want %v", b, want[i])
		}
	}
	if _, err := parseBenchmarks([]byte("PASS\n")); err == nil {
		t.Error("nothing ran: no error")
	}
}

// Ratios are of runs made in turn, so that what slows a round slows both.
func TestMedianRatio(t *testing.T) {
	a := []usage{{wall: 2}, {wall: 20}, {wall: 6}}
	b := []usage{{wall: 1}, {wall: 10}, {wall: 2}}
	if got := medianRatio(a, b, wall); got != 2 {
		t.Errorf("median of 2, 2 and 3: %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of 1 to 4: %v", got)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(v); got != want {
			t.Errorf("%d: %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.123: "0.12", 2.346: "2.35", 23.46: "23.5", 234.6: "235"} {
		if got := seconds(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
