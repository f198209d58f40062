package tabling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

const needsTopics = "needs a pipeline with a kafka source: windows are stretches of the records of topics"

// lookEvery is the time between two checks whether a window is complete.
const lookEvery = time.Second

// WindowsResult is how a run over windows ended.
type WindowsResult struct {
	Windows  int   // that were published
	Withheld int   // that the gate refused
	Empty    int   // that had no records
	Lost     int64 // records of published windows that are in no table
	Left     int64 // offsets after the last window, too few for another one
	Cut      bool  // whether the run ended before the end of the topics (until: latest)
}

// errNoRecords is the error of a window whose offsets hold no records.
var errNoRecords = errors.New("there are no records")

// totalKnown reports whether everybody knows the grand total of a family: if it counts the records
// of a window, whose number is in the configuration.
func (r *records) totalKnown(f *family) bool {
	return r.windowed && f.options.Counts && f.table.Weight == ""
}

// Observer has the functions that a run over windows calls. Those that are nil are not called.
type Observer struct {
	Looked func(left int64)    // the topics have answered; left is the number of their offsets that are in no window yet
	Begun  func(number int)    // a window is being made
	Done   func(*WindowResult) // a window has its name, published or refused
}

// complete returns an observer of which no function is nil.
func (o Observer) complete() Observer {
	if o.Looked == nil {
		o.Looked = func(int64) {}
	}
	if o.Begun == nil {
		o.Begun = func(int) {}
	}
	if o.Done == nil {
		o.Done = func(*WindowResult) {}
	}
	return o
}

// WindowResult is how one window ended.
type WindowResult struct {
	*Result // nil if it had no records
	Window
}

// windows makes the tables of one stretch of topics after another.
//
// The folders of the windows themselves record what has been tabulated: each has, with its tables,
// the offsets of its records, and gets its name as a whole. The next window begins where the last
// one ends. The offsets of a window depend on what the topics hold when it closes, so they are
// written to a file (the plan) before any of them is read: after a killed run, the next run makes
// the same window.
type windows struct {
	config  *tabulation.Config
	options pipeline.Options
	observe Observer
	folder  string
	source  connectors.Holding
	limit   map[connectors.Partition]int64 // where the topics ended at the start; nil: no end
	last    *Window                        // nil: there is none yet
	left    int64

	now func() time.Time
	// the offset after that of a record from the future about which a warning was logged
	warned map[connectors.Partition]int64
	step   func(name string) error // for tests, which end a run at every step
}

// RunWindows makes the tables of the windows of topics until ctx ends or, with until: latest, until
// the topics do not hold another whole window. An error of type config.Errors or *pipeline.DataError
// means that the configuration does not fit the data; the windows before are then published, and
// the next run tries the same window again.
func RunWindows(ctx context.Context, t *tabulation.Config, o pipeline.Options, observe Observer) (*WindowsResult,
	error) {
	return runWindows(ctx, t, o, observe, func(string) error { return nil })
}

func runWindows(ctx context.Context, t *tabulation.Config, o pipeline.Options, observe Observer,
	step func(string) error) (_ *WindowsResult, err error) {
	ctx, o = o.Ready(ctx)
	if err := t.LooseningAllowed(o.AllowLoosening); err != nil {
		return nil, err
	}
	p, err := config.Load(t.Pipeline, config.Options{})
	if err != nil {
		return nil, err
	}
	spanned := p.Source.Abilities().WithSpans
	if spanned == nil {
		return nil, config.Errors{t.Errorf("window", needsTopics)}
	}
	w := &windows{config: t, options: o, observe: observe.complete(), folder: filepath.Clean(t.Window.Folder),
		now: time.Now, warned: map[connectors.Partition]int64{}, step: step}
	guard, err := publish.Create(filepath.Join(w.folder, "windows"), publish.Confidential)
	if err != nil {
		return nil, fmt.Errorf("window.folder: %w", err)
	}
	defer func() { err = errors.Join(err, guard.Abort()) }()
	if w.last, err = lastWindow(w.folder); err != nil {
		return nil, fmt.Errorf("window.folder: %w", err)
	}
	source := *p
	source.Source.Config, source.Place = spanned(nil), nil
	src, err := pipeline.OpenSource(ctx, &source)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if w.source = src.Abilities().Holding; w.source == nil {
		return nil, config.Errors{t.Errorf("window", needsTopics)}
	}
	if !p.Stream() {
		if err := w.end(ctx); err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
	}
	return w.all(ctx)
}

// end notes the present end of the topics.
func (w *windows) end(ctx context.Context) error {
	held, err := w.source.Held(ctx)
	if err != nil {
		return err
	}
	w.limit = map[connectors.Partition]int64{}
	for _, h := range held {
		w.limit[h.Partition] = h.End
	}
	return nil
}

// all makes one window after another. An end of ctx is no error: no window is left incomplete, and
// the next run continues.
func (w *windows) all(ctx context.Context) (*WindowsResult, error) {
	res := &WindowsResult{}
	stopped := func(err error) bool {
		return ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, context.Canceled))
	}
	for {
		next, err := w.next(ctx)
		if err == nil && next == nil {
			res.Left = w.left
			return res, nil
		}
		var made *WindowResult
		if err == nil {
			w.observe.Begun(next.Number)
			if made, err = w.make(ctx, next); err != nil && !stopped(err) {
				w.options.Log.Error().Int("window", next.Number).Msg("the run ends in this window; the next run goes on from here")
			}
		}
		if made != nil {
			switch {
			case made.Withheld:
				res.Withheld++
			case made.Empty:
				res.Empty++
			default:
				res.Windows++
				res.Lost += made.Report.Records.Lost()
			}
			w.observe.Done(made)
		}
		switch {
		case err != nil && stopped(err):
			res.Cut = w.limit != nil
			return res, nil
		case err != nil:
			return res, err
		}
	}
}

// next returns the next window: that of the plan that a killed run has left, or the next one that
// is complete, whose plan it writes. It is nil if none is complete.
func (w *windows) next(ctx context.Context) (*Window, error) {
	plan, err := readWindow(planOf(w.folder))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("window.folder: %w", err)
	// otherwise it is the plan of the last window: the run was killed before it removed the plan
	case plan.Number > w.number():
		return plan, w.stillThere(ctx, plan)
	}
	for {
		held, err := w.source.Held(ctx)
		if err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		next, err := w.planned(ctx, held)
		if err != nil {
			return nil, err
		}
		w.observe.Looked(w.left)
		if next != nil {
			if err := next.write(planOf(w.folder)); err != nil {
				return nil, fmt.Errorf("window.folder: %w", err)
			}
			return next, w.step("planned")
		}
		if w.limit != nil {
			return nil, nil
		}
		w.options.Progress.Start("waiting", -1)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// stillThere returns an error if a topic of a plan has been created again since. Whether its
// records still exist is checked when they are read.
func (w *windows) stillThere(ctx context.Context, plan *Window) error {
	held, err := w.source.Held(ctx)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	for _, s := range plan.Stretches {
		for _, h := range held {
			if h.Partition == s.of() && s.TopicID != "" && h.TopicID != "" && s.TopicID != h.TopicID {
				return fmt.Errorf("source: %s: the topic has been made anew since window %d in %s was begun; name another folder",
					h.Partition, plan.Number, w.folder)
			}
		}
	}
	return nil
}

func (w *windows) number() int {
	if w.last == nil {
		return 0
	}
	return w.last.Number
}

// planned returns the next window of topics with the given offsets; nil if it is not complete yet.
func (w *windows) planned(ctx context.Context, held []connectors.HeldPartition) (*Window, error) {
	next := &Window{Schema: WindowSchema, Number: w.number() + 1, ConfigSHA256: w.config.SHA256()}
	before := map[connectors.Partition]Stretch{}
	if w.last != nil {
		for _, s := range w.last.Stretches {
			before[s.of()] = s
		}
	}
	var have []int64
	w.left = 0
	for _, h := range held {
		s, known := before[h.Partition]
		delete(before, h.Partition)
		from := h.Start
		switch {
		case known && s.TopicID != "" && h.TopicID != "" && s.TopicID != h.TopicID, known && h.End < s.End:
			return nil,
				fmt.Errorf(
					"source: %s: the topic has been made anew or has lost records since window %d in %s, which ends at offset %d; name another folder", h.Partition, w.number(), w.folder, s.End)
		case known:
			from = s.End
		case w.last != nil:
			from = h.First // a new partition is part of the windows from its first offset
		}
		if h.First > from {
			w.options.Log.Warn().Str("partition", h.Partition.String()).Int64("offsets",
				h.First-from).Msg("records that no window has counted have been deleted (retention)")
			next.Deleted += h.First - from
			from = h.First
		}
		if w.limit != nil {
			h.End = min(h.End, w.limit[h.Partition]) // 0: created after the start
		}
		next.Stretches = append(next.Stretches, Stretch{Topic: h.Topic, TopicID: h.TopicID, Partition: h.Number, From: from})
		have = append(have, max(0, h.End-from))
		w.left += max(0, h.End-from)
	}
	for p := range before {
		return nil,
			fmt.Errorf("source: %s holds windows of %s, which the source does not have; name another folder", w.folder, p)
	}
	if w.config.Window.Every > 0 {
		return w.byTime(ctx, next, have)
	}
	size := int64(w.config.Window.Records)
	if w.left < size {
		return nil, nil
	}
	for i, n := range shared(have, size) {
		next.Stretches[i].End = next.Stretches[i].From + n
	}
	return next, nil
}

// shared divides n among partitions with the given numbers of offsets, which are together at least n: each
// gives the same number, or all it has.
func shared(have []int64, n int64) []int64 {
	order := make([]int, len(have))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(have[a], have[b]) })
	of := make([]int64, len(have))
	for k, i := range order {
		of[i] = min(have[i], n/int64(len(order)-k))
		n -= of[i]
	}
	return of
}

// make makes the tables of one window in a hidden folder, which gets its name only when it is
// complete.
func (w *windows) make(ctx context.Context, next *Window) (_ *WindowResult, err error) {
	hidden := hiddenOf(w.folder)
	if err := clearHidden(hidden); err != nil {
		return nil, fmt.Errorf("window.folder: %w", err)
	}
	killed := false
	defer func() {
		if err != nil && !killed {
			err = errors.Join(err, os.RemoveAll(hidden))
		}
	}()
	step := func(name string) error {
		err := w.step(name)
		killed = err != nil
		return err
	}
	started := time.Now()
	r, err := openSpans(ctx, w.config.InFolder(hidden), w.options, next.spans())
	if err != nil {
		return nil, err
	}
	result, err := r.publish(ctx, w.options, started)
	next.Empty = errors.Is(err, errNoRecords)
	if next.Empty {
		err = nil
	}
	if err = errors.Join(err, r.close()); err != nil {
		return nil, err
	}
	if err := step("made"); err != nil {
		return nil, err
	}
	next.Withheld = result != nil && result.Report.Withheld != ""
	if err := next.write(filepath.Join(hidden, tabulation.WindowFile)); err != nil {
		return nil, fmt.Errorf("window.folder: %w", err)
	}
	if err := step("described"); err != nil {
		return nil, err
	}
	path := next.path(w.folder)
	if err := publish.NameDir(hidden, path); err != nil {
		return nil, fmt.Errorf("window.folder: %w", err)
	}
	w.last = next
	if result != nil {
		for i, file := range result.Files {
			result.Files[i] = filepath.Join(path, filepath.Base(file))
		}
	}
	made := &WindowResult{result, *next}
	if err := step("named"); err != nil {
		return made, err
	}
	if err := os.Remove(planOf(w.folder)); err != nil {
		return made, fmt.Errorf("window.folder: %w", err)
	}
	return made, nil
}
