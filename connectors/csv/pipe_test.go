package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job is a run from CSV to CSV.
type job struct {
	source  SourceConfig
	sink    SinkConfig
	cut     connectors.Cut
	mask    []string // columns to which 1 is added
	release []string // nil: all
	decode  bool     // nothing is carried
	reject  []int    // records to reject after decoding
	decimal int
}

type result struct {
	out     string
	rejects []string
	n       int
	types   []string
	names   []string
}

// run runs the job on an input text; the output is text too.
func (j job) run(t testing.TB, input string) (result, error) {
	t.Helper()
	dir := t.TempDir()
	if j.source.Path == "" {
		j.source.Path = filepath.Join(dir, "in.csv")
		if err := os.WriteFile(j.source.Path, []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if ps := append(j.source.Check(), j.sinkAt(dir).Check()...); len(ps) > 0 {
		t.Fatal(ps)
	}
	return j.pass(t, j.sinkAt(dir))
}

func (j job) sinkAt(dir string) *SinkConfig {
	sink := j.sink
	if sink.Path == "" {
		sink.Path = filepath.Join(dir, "out.csv")
	}
	return &sink
}

func (j job) pass(t testing.TB, to *SinkConfig) (res result, err error) {
	t.Helper()
	ctx := context.Background()
	src, err := j.source.Open(ctx)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	layout := j.layout(src, to)
	res.names = src.Schema().Names()
	for _, f := range src.Schema().Fields {
		res.types = append(res.types, f.Type.String())
	}
	snk, err := to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, snk.Abort()) }()
	r, err := src.Read(ctx, layout, j.cut)
	if err != nil {
		return res, err
	}
	defer r.Close()
	var b microdata.Block
	for {
		raw, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return res, err
		}
		if err := raw.Decode(&b); err != nil {
			return res, err
		}
		if b.First != int64(res.n) && b.Stream == 0 {
			t.Errorf("block at record %d, want %d", b.First, res.n)
		}
		res.n += b.N
		for _, x := range b.Rejects {
			res.rejects = append(res.rejects,
				strings.TrimSpace(fmt.Sprintf("%d %s: %s", b.First+int64(x.Row)+1, x.Column, x.Reason)))
		}
		for _, at := range j.reject {
			if i := at - int(b.First); i >= 0 && i < b.N {
				b.Reject(i, "", "for the test")
			}
		}
		for _, o := range layout.Release {
			if o.Masked {
				for i := range b.Columns[o.Column].Mutable().Values {
					b.Columns[o.Column].Released.Values[i]++
				}
			}
		}
		e, err := snk.Encode(&b)
		if err != nil {
			return res, err
		}
		if err := snk.Write(ctx, e); err != nil {
			return res, err
		}
	}
	if n := src.Records(); n >= 0 && n != int64(res.n) {
		t.Errorf("Records returns %d, but %d were read", n, res.n)
	}
	if err := errors.Join(snk.Finish(ctx), snk.Commit()); err != nil {
		return res, err
	}
	if to.Path != "-" {
		if info, err := os.Stat(to.Path); err == nil && !info.IsDir() {
			p, err := os.ReadFile(to.Path)
			if err != nil {
				return res, err
			}
			res.out = string(p)
		}
	}
	return res, nil
}

func (j job) layout(src connectors.Source, to *SinkConfig) *microdata.Layout {
	l := &microdata.Layout{Schema: src.Schema()}
	names := j.release
	if names == nil {
		names = src.Schema().Names()
	}
	for _, name := range names {
		i := src.Schema().Index(name)
		f := src.Schema().Fields[i]
		o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: j.decimal, Masked: slices.Contains(j.mask, name)}
		if o.Masked || j.decode || !to.Carries(src) {
			o.Column = len(l.Read)
			form := microdata.Array
			if o.Masked {
				form = microdata.Numbers
			}
			l.Read = append(l.Read, microdata.Want{Field: i, As: form})
		}
		l.Release = append(l.Release, o)
	}
	return l
}

// openText reads the schema of an input text.
func openText(t testing.TB, c SourceConfig, input string) (connectors.Source, error) {
	t.Helper()
	c.Path = filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(c.Path, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	return c.Open(context.Background())
}

// slow returns one byte per read.
type slow struct{ r io.Reader }

func (s slow) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 1)]) }

func trickle(s string) io.Reader { return slow{bytes.NewReader([]byte(s))} }

func yes(b bool) *bool { return &b }
