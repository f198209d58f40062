package filejob

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// BenchmarkShares measures how a run's time is divided: noise on one float column of two, or, with
// SDLFILTER_BENCH_FILE naming the file of scripts/bench.py, on four columns of ten. The limit
// copies the untouched chunks and decodes and encodes the masked ones, without noise (λ = 0) and
// without assessment; then the masks are added, then the assessment. CPU-s/op counts all threads.
//
//	SDLFILTER_BENCH_FILE=.cache/bench/bench10000000.parquet go test ./internal/pipeline/filejob -run '^$' -bench Shares -benchtime 3x -count 3
func BenchmarkShares(b *testing.B) {
	dir := b.TempDir()
	source, columns, masked := os.Getenv("SDLFILTER_BENCH_FILE"), "", "f1, f2, f3, f4"
	if source == "" {
		source, masked = filepath.Join(dir, "in.parquet"), "income"
		writeParquet(b, source, people(500_000), 100_000)
		columns = "{id: {role: identifier}, income: {role: sensitive, decimals: 2}, debt: {role: other}, age: {role: other}, region: {role: other}}"
	} else {
		columns = `{f1: {role: sensitive, decimals: 2}, f2: {role: sensitive, decimals: 2}, f3: {role: sensitive, decimals: 1},
  f4: {role: sensitive, decimals: 2}, f5: {role: other}, f6: {role: other}, id: {role: identifier}, i2: {role: other}, region: {role: other}, class: {role: other}}`
	}
	for _, c := range []struct {
		name   string
		sd     int
		assess bool
	}{{"limit", 0, false}, {"masks", 100, false}, {"masks and assessment", 100, true}} {
		b.Run(c.name, func(b *testing.B) {
			write(b, filepath.Join(dir, "k"), []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZUY="))
			p, err := config.Parse("bench.yaml", fmt.Appendf(nil, `version: 1
key: {file: %s/k}
source: {parquet: {path: %s}}
sink: {parquet: {path: %s/out.parquet}}
columns: %s
masks: [{noise: {columns: [%s], sd: %d}}]
`, dir, source, dir, columns, masked, c.sd), config.Options{Environ: func() []string { return nil }})
			if err != nil {
				b.Fatal(err)
			}
			before := cpu(b)
			for b.Loop() {
				if err := benchRun(p, c.assess); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "CPU-s/op")
		})
	}
}

// benchRun is Run, optionally without the assessor.
func benchRun(p *config.Pipeline, assessed bool) error {
	ctx := context.Background()
	key, err := p.Key.Resolve()
	if err != nil {
		return err
	}
	src, err := p.Source.Config.Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	r := &run{config: p, options: pipeline.Options{Progress: new(pipeline.Progress)}, key: key, source: src, started: time.Now()}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if !assessed {
		r.masked.Measured = nil
	}
	_, err = r.release(ctx)
	return err
}

// cpu returns the processor time of all threads of the process so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
