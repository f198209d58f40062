package main

import (
	"fmt"
	"strconv"
	"strings"
)

// benchmark is one line of what a Go test binary prints with -test.bench.
type benchmark struct {
	name    string // without "Benchmark" and the number of cores
	seconds float64
	metrics map[string]float64 // by unit
}

// parseBenchmarks reads the lines of benchmarks, of which there must be some.
func parseBenchmarks(text []byte) ([]benchmark, error) {
	var list []benchmark
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name, ok := strings.CutPrefix(line, "Benchmark")
		if !ok || len(fields) < 4 || len(fields)%2 != 0 {
			continue
		}
		b := benchmark{metrics: map[string]float64{}}
		b.name, _, _ = strings.Cut(name, " ")
		b.name, _, _ = strings.Cut(b.name, "\t")
		if at := strings.LastIndexByte(b.name, '-'); at > 0 {
			if _, err := strconv.Atoi(b.name[at+1:]); err == nil {
				b.name = b.name[:at]
			}
		}
		for i := 2; i < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("benchmark %s: %w", b.name, err)
			}
			b.metrics[fields[i+1]] = v
		}
		ns, ok := b.metrics["ns/op"]
		if !ok {
			return nil, fmt.Errorf("benchmark %s has no ns/op", b.name)
		}
		b.seconds = ns / 1e9
		list = append(list, b)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no benchmark ran: %s", text)
	}
	return list, nil
}
