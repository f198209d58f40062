package suppress

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Number of suppressed cells and time for the test problems, with a protection of ± 3 and including
// the audit:
//
//	go test -run - -bench Protect -benchtime 1x ./internal/tables/suppress
func BenchmarkProtect(b *testing.B) {
	benchmark(b, func(audit.Question, *primary.Result) *tables.Knowers { return nil })
}

// The same, if respondents who are alone in a cell know it. One of two respondents in a cell knows
// that the count is at least 1.
func BenchmarkProtectRespondents(b *testing.B) {
	benchmark(b, func(q audit.Question, p *primary.Result) *tables.Knowers {
		for c, v := range q.Value {
			if v == 2 {
				p.Down[c] = 1
			}
		}
		return respondents(q, 1)
	})
}

func benchmark(b *testing.B, knower func(audit.Question, *primary.Result) *tables.Knowers) {
	for _, name := range []string{"2d50", "3d10", "hier", "hierbig"} {
		b.Run(name, func(b *testing.B) {
			b.StopTimer()
			for range b.N {
				q, p := load(b, name, 3)
				k := knower(q, p)
				b.StartTimer()
				pattern := protect(b, q, p, Options{Knowers: k})
				b.StopTimer()
				if !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 {
					b.Fatal(pattern.Verdict, len(pattern.Insiders))
				}
				b.ReportMetric(float64(pattern.Primary+pattern.Second), "cells")
			}
		})
	}
}
