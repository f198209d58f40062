package filejob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// meddled is a source with files that are changed during a pass, or just before the nth check for
// changes.
type meddled struct {
	connectors.Source
	pass, asked int  // counted from 1; 0: never
	atEnd       bool // at the end of the pass, or else before its first record
	meddle      func()

	passes, times int
}

func (s *meddled) Abilities() connectors.SourceAbilities {
	from := s.Source.Abilities()
	unchanged := func() error {
		if s.times++; s.times == s.asked {
			s.meddle()
		}
		return from.Unchanged()
	}
	return connectors.SourceAbilities{Unchanged: unchanged, At: from.At}
}

func (s *meddled) Read(ctx context.Context, l *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	r, err := s.Source.Read(ctx, l, cut)
	s.passes++
	if err != nil || s.passes != s.pass {
		return r, err
	}
	return &meddledReader{Reader: r, meddled: s}, nil
}

type meddledReader struct {
	connectors.Reader
	*meddled
	done bool
}

func (r *meddledReader) Next(ctx context.Context) (connectors.Raw, error) {
	if !r.atEnd && !r.done {
		r.done = true
		r.meddle()
	}
	raw, err := r.Reader.Next(ctx)
	if errors.Is(err, io.EOF) && !r.done {
		r.done = true
		r.meddle()
	}
	return raw, err
}

// A run fails and publishes nothing if its source changes in any of its passes (for standard
// deviations, for the partners of a swap, for the release), at the beginning or end of the pass, or
// between the last pass and publishing.
func TestChangedSourcePublishesNothing(t *testing.T) {
	dir := t.TempDir()
	rows := people(3000)
	input := func(format, name string, rows []person) string {
		path := filepath.Join(dir, name+"."+format)
		switch format {
		case "csv":
			writeCSV(t, path, rows)
		case "jsonl":
			writeJSONL(t, path, rows)
		case "parquet":
			writeParquet(t, path, rows, 700)
		}
		return path
	}
	const passes = 3
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		in := input(format, "in", rows)
		other, err := os.ReadFile(input(format, "other", people(3001)))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, format, "out."+format)
		check := func(name string, m *meddled) {
			t.Helper()
			if err := os.WriteFile(in, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			p := parse(t, dir, setup{
				source: format + ": {path: " + in + "}", sink: format + ": {path: " + out + "}",
				masks: strings.Replace(swapMasks, "policy", "scope: dataset, policy", 1),
				extra: "report: {json: " + filepath.Join(dir, format, "r.json") + "}\nassess: {replicates: 2}",
			})
			key, err := p.Key.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if m.Source, err = pipeline.OpenSource(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			m.meddle = func() {
				if err := os.WriteFile(in, other, 0o600); err != nil {
					t.Error(err)
				}
			}
			r := &run{config: p, options: pipeline.Options{Progress: new(pipeline.Progress)}, key: key, source: m,
				streams: m.Streams()}
			if err = r.prepare(t.Context()); err == nil {
				_, err = r.release(t.Context())
			}
			if m.pass+m.asked == 0 {
				if err != nil || m.passes != passes || m.times != 2*passes+1 {
					t.Errorf("%s, %s: error %v after %d passes and %d checks for changes", format, name, err, m.passes, m.times)
				}
				return
			}
			if !errors.Is(err, files.ErrChanged) {
				t.Errorf("%s, %s: error %v, want files.ErrChanged", format, name, err)
			}
			if err := r.abort(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(filepath.Join(dir, format)); len(left) > 0 {
				t.Errorf("%s, %s: the run left %v, want nothing", format, name, left)
			}
		}
		for pass := 1; pass <= passes; pass++ {
			for _, atEnd := range []bool{false, true} {
				check(fmt.Sprintf("pass %d, %v", pass, atEnd), &meddled{pass: pass, atEnd: atEnd})
			}
		}
		check("before publishing", &meddled{asked: 2*passes + 1})
		check("never", &meddled{})
	}
}
