package tabling

import (
	"context"
	"fmt"
	"time"
)

// byTime completes a window by time, given the beginnings of its stretches and the number of
// offsets that each partition has: a stretch ends before the first record of its partition that
// is at or after the window's end. It is nil if no window with offsets has ended yet.
//
// A late record comes after such a record, and belongs to the window that is open then: each record
// is in exactly one window. Windows without offsets are skipped.
func (w *windows) byTime(ctx context.Context, next *Window, have []int64) (*Window, error) {
	every := time.Duration(w.config.Window.Every)
	first := int64(1)
	if w.last != nil {
		until, err := w.last.End()
		if err != nil {
			return nil, fmt.Errorf("window.folder: window %d: %w", w.last.Number, err)
		}
		if !until.IsZero() { // the last window was by time
			first = max(first, until.UnixNano()/int64(every)+1)
		}
	}
	now := w.now()
	last := now.Add(-time.Duration(w.config.Window.Lateness)).UnixNano() / int64(every) // the last window that has ended
	if last < first {
		return nil, nil
	}
	at := func(number int64) time.Time { return time.Unix(0, number*int64(every)) }
	counts, err := w.before(ctx, at(first), next, have)
	if err == nil && sum(counts) == 0 {
		// The first window after it that has offsets is found by bisection.
		if counts, err = w.before(ctx, at(last), next, have); err == nil && sum(counts) == 0 {
			return nil, w.warnOfFuture(ctx, now, next, have)
		}
		for none := first; err == nil && last-none > 1; {
			middle, found := none+(last-none)/2, []int64(nil)
			if found, err = w.before(ctx, at(middle), next, have); sum(found) > 0 {
				last, counts = middle, found
			} else {
				none = middle
			}
		}
		first = last
	}
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		next.Stretches[i].End = next.Stretches[i].From + n
	}
	next.Until = at(first).UTC().Format(time.RFC3339)
	return next, w.warnOfFuture(ctx, now, next, have)
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// future is how far ahead of this machine's clock a timestamp may be without a warning.
const future = time.Hour

// warnOfFuture logs partitions with a record whose timestamp is far in the future: the records
// after it are in no window until then.
func (w *windows) warnOfFuture(ctx context.Context, now time.Time, next *Window, have []int64) error {
	counts, err := w.before(ctx, now.Add(future), next, have)
	if err != nil {
		return err
	}
	for i, n := range counts {
		s := next.Stretches[i]
		if n == have[i] || w.warned[s.of()] == s.From+n+1 {
			continue
		}
		w.warned[s.of()] = s.From + n + 1
		w.options.Log.Warn().Str("partition", s.of().String()).Int64("offset", s.From+n).
			Msg("this record has a timestamp in the future; it and the records behind it are in no window until then")
	}
	return nil
}

// before returns how many of the offsets of each stretch lie before the first record at or after a time.
func (w *windows) before(ctx context.Context, at time.Time, next *Window, have []int64) ([]int64, error) {
	since, err := w.source.Since(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	counts := make([]int64, len(have))
	for i, s := range next.Stretches {
		if offset, known := since[s.of()]; known {
			counts[i] = min(max(0, offset-s.From), have[i])
		}
	}
	return counts, nil
}
