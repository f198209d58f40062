package jsonl

import (
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

// job is a run from JSON Lines to JSON Lines.
type job struct {
	source  SourceConfig
	sink    SinkConfig
	cut     connectors.Cut
	mask    []string // columns to which 1 is added
	fill    bool     // masked columns without a value get 7; a swap may also give them a value
	release []string // nil: all
}

type result struct {
	out     string
	rejects []string
	n       int
	columns []string
}

func (j job) run(t testing.TB, input string) (res result, err error) {
	t.Helper()
	dir := t.TempDir()
	if j.source.Path == "" {
		j.source.Path = filepath.Join(dir, "in.jsonl")
		if err := os.WriteFile(j.source.Path, []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to := j.sink
	if to.Path == "" {
		to.Path = filepath.Join(dir, "out.jsonl")
	}
	if ps := append(j.source.Check(), to.Check()...); len(ps) > 0 {
		t.Fatal(ps)
	}
	ctx := context.Background()
	src, err := j.source.Open(ctx)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for _, f := range src.Schema().Fields {
		res.columns = append(res.columns, f.Name+" "+f.Type.String())
	}
	layout := j.layout(src, &to)
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
		res.n += b.N
		for _, x := range b.Rejects {
			res.rejects = append(res.rejects,
				strings.TrimSpace(fmt.Sprintf("%d %s: %s", b.First+int64(x.Row)+1, x.Column, x.Reason)))
		}
		j.apply(&b, layout)
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
	p, err := os.ReadFile(to.Path)
	res.out = string(p)
	return res, err
}

func (j job) apply(b *microdata.Block, layout *microdata.Layout) {
	for _, o := range layout.Release {
		if !o.Masked {
			continue
		}
		v := b.Columns[o.Column].Mutable()
		for i := range v.Values {
			if v.Valid.Has(i) {
				v.Values[i]++
			} else if j.fill {
				v.Values[i] = 7
			}
		}
		if j.fill {
			v.Valid = nil
		}
	}
}

func (j job) layout(src connectors.Source, to *SinkConfig) *microdata.Layout {
	l := &microdata.Layout{Schema: src.Schema()}
	names := j.release
	if names == nil {
		names = src.Schema().Names()
	}
	for _, name := range names {
		i := src.Schema().Index(name)
		o := microdata.Output{Field: src.Schema().Fields[i], Source: i, Column: -1, Decimals: 2,
			Masked: slices.Contains(j.mask, name)}
		if o.Masked || !to.Carries(src) {
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
