package faulty

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// copied copies a file through a source and a sink that count their calls.
func copied(ctx context.Context, c *Calls, from, to string) (err error) {
	src, err := c.Config(&csv.SourceConfig{Path: from}).Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, f := range src.Schema().Fields {
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		layout.Release = append(layout.Release, microdata.Output{Field: f, Source: i, Column: i, Masked: true, Decimals: -1})
	}
	sink, err := c.Sink(&csv.SinkConfig{Path: to}).Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Abort()) }()
	r, err := src.Read(ctx, layout, connectors.Cut{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		raw, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		b := new(microdata.Block)
		if err := raw.Decode(b); err != nil {
			return err
		}
		e, err := sink.Encode(b)
		if err != nil {
			return err
		}
		if err := sink.Write(ctx, e); err != nil {
			return err
		}
	}
	if err := errors.Join(sink.Finish(ctx), connectors.Unchanged(src)); err != nil {
		return err
	}
	return errors.Join(sink.Commit(), src.Abilities().Acknowledge(ctx))
}

// Every call is counted, and the selected one fails, or performs an action instead.
func TestCallsFail(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
	if err := os.WriteFile(from, []byte("a,b\n1,x\n2,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := new(Calls)
	if err := copied(t.Context(), all, from, to); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, n := range Each(all.Counts()) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if err := copied(t.Context(), &Calls{Name: name, N: n}, from, to); !errors.Is(err, ErrCall) {
			t.Errorf("%s, call %d: %v", name, n, err)
		}
		done := false
		if err := copied(t.Context(), &Calls{Name: name, N: n, Cancel: func() { done = true }}, from, to); err != nil ||
			!done {
			t.Errorf("%s, call %d in place of a failure: %v, %v", name, n, done, err)
		}
	}
	if want := []string{"abort", "acknowledge", "close the reader", "commit", "create", "decode", "encode", "finish",
		"next", "open", "read", "unchanged", "write"}; !slices.Equal(names, want) {
		t.Errorf("counted are %q, want %q", names, want)
	}
	var few []int
	for _, n := range Each(map[string]int{"a": 20}) {
		few = append(few, n)
	}
	if want := []int{1, 2, 3, 4, 5, 6, 19, 20}; !slices.Equal(few, want) {
		t.Errorf("of 20 calls %v, want %v", few, want)
	}
}
