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

// BenchmarkShares measures a run without and with its assessment: that of a configuration of scripts/bench.py,
// named by SDLFILTER_BENCH_CONFIG, or of noise on one float column of two. CPU-s/op counts all threads. Its
// release replaces that of the configuration.
//
//	SDLFILTER_BENCH_CONFIG=$PWD/.cache/bench/parquet.yaml go test ./internal/pipeline/filejob -run '^$' -bench Shares -benchtime 3x -count 3
func BenchmarkShares(b *testing.B) {
	dir := b.TempDir()
	path := os.Getenv("SDLFILTER_BENCH_CONFIG")
	if path == "" {
		path = filepath.Join(dir, "bench.yaml")
		writeParquet(b, filepath.Join(dir, "in.parquet"), people(500_000), 100_000)
		write(b, filepath.Join(dir, "k"), []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZUY="))
		write(b, path, fmt.Appendf(nil, `version: 1
key: {file: %s/k}
source: {parquet: {path: %[1]s/in.parquet}}
sink: {parquet: {path: %[1]s/out.parquet}}
columns: {id: {role: identifier}, income: {role: sensitive, decimals: 2}, debt: {role: other}, age: {role: other}, region: {role: other}}
masks: [{noise: {columns: [income], sd: 100}}]
`, dir))
	}
	for _, c := range []struct {
		name   string
		assess bool
	}{{"masks", false}, {"masks and assessment", true}} {
		b.Run(c.name, func(b *testing.B) {
			p, err := config.Load(path, config.Options{Environ: func() []string { return nil }})
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
	r := &run{config: p, options: pipeline.Options{Progress: new(pipeline.Progress)}, key: key, source: src,
		started: time.Now()}
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
