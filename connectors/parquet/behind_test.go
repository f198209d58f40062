package parquet

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
)

// heldFile is a file with delayed writes: while hold is set, each write waits until it is released.
type heldFile struct {
	memoryFile
	hold   chan struct{} // nil: writes do not wait
	closed bool
}

func (f *heldFile) Write(b []byte) (int, error) {
	if f.hold != nil {
		<-f.hold
	}
	if f.closed {
		return 0, errors.New("written after it was closed")
	}
	return f.memoryFile.Write(b)
}

func (f *heldFile) Close() error { f.closed = true; return nil }

// A row group is written to disk while the next one is being filled: flush does not wait for the
// disk. Anything that needs the file waits: the next row group, Finish and Abort. The next row
// group and Finish return the error of the delayed write.
func TestRowGroupIsWrittenBehind(t *testing.T) {
	k, err := (&SinkConfig{Path: "out", Compression: "none"}).Content(contentLayout())
	if err != nil {
		t.Fatal(err)
	}
	group := func(s *sink) *pendingGroup {
		g := s.pending(-1)
		g.rows = 1
		for i := range g.pages {
			g.pages[i] = []*encodedPage{{values: 1, rows: 1, stored: []byte{1}}}
		}
		return g
	}
	// begun starts a sink with a row group that waits for its file.
	begun := func(ctx context.Context) (*sink, *heldFile) {
		s, f := k.design, &heldFile{}
		s.writing, s.streams, s.stream = new(errgroup.Group), 1, 0
		meta, err := s.metadata()
		if err != nil {
			t.Fatal(err)
		}
		if s.out, err = newOutput(f, meta, nil); err != nil {
			t.Fatal(err)
		}
		f.hold = make(chan struct{})
		s.group = group(&s)
		if err := s.flush(ctx); err != nil {
			t.Fatal(err)
		}
		return &s, f
	}
	for what, next := range map[string]func(*sink) error{
		"the next row group": func(s *sink) error { s.group = group(s); return s.flush(t.Context()) },
		"the next file":      func(s *sink) error { return s.advance(1) },
		"the end":            func(s *sink) error { return s.Finish(t.Context()) },
		"a spooled group": func(s *sink) error {
			small(t, 1)
			st := &stream{footer: &footer{}}
			st.RowGroups = []rowGroup{{NumRows: 5}}
			s.source = &source{streams: []*stream{st}}
			return s.add(t.Context(),
				&encodedPart{span: span{group: 0, n: 1}, kept: 1, pages: [][]*encodedPage{{{stored: []byte{1}}}, nil, nil}})
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s, f := begun(ctx)
		cancel() // the flush has returned and its context is cancelled
		f.short = true
		close(f.hold)
		if err := next(s); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: %v, want the error of the row group before", what, err)
		}
	}
	s, f := begun(t.Context())
	go close(f.hold)
	if err := s.Finish(t.Context()); err != nil || !f.closed || f.syncs != 1 {
		t.Errorf("a release: %v, closed %v, %d syncs", err, f.closed, f.syncs)
	}
	s, f = begun(t.Context())
	stopped, stop := make(chan struct{}), s.stop
	s.stop = sync.OnceFunc(func() { stop(); close(stopped) })
	aborted := make(chan error)
	go func() { aborted <- s.Abort() }()
	<-stopped
	close(f.hold)
	if err := <-aborted; err != nil || !f.closed {
		t.Errorf("an abort: %v, closed %v", err, f.closed)
	}
	if err := s.writing.Wait(); !errors.Is(err, context.Canceled) {
		t.Error("an abandoned row group was written to its end")
	}
}
