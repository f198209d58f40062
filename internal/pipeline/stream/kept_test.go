package stream

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
)

// keptOf returns the state kept for a partition of a bench after a commit.
func keptOf(b *bench, number int32) map[string][]byte {
	b.t.Helper()
	l := b.standings[part(number)]
	entries, err := l.Entries(b.next[part(number)])
	if err != nil {
		b.t.Fatal(err)
	}
	counted, err := l.totals.keep(b.fingerprint, b.next[part(number)])
	if err != nil {
		b.t.Fatal(err)
	}
	l.commit()
	kept := map[string][]byte{}
	for _, e := range entries {
		kept[string(e.Key)] = e.Value
	}
	if counted != nil {
		kept[totalsEntry] = counted
	}
	return kept
}

// The kept state of a group is the sum over its partitions, with the reasons of lost records. State
// of another pipeline or of other masks is omitted, and the log says so. Damaged state is an error
// that names the partition.
func TestKeptStatesAddUp(t *testing.T) {
	b := benchOf(t, "")
	b.feed(0, 40, 3)
	b.feed(1, 60, 0, 59)
	first, last := keptOf(b, 0), keptOf(b, 1)
	of := func(number int32) kafka.StateOf {
		return kafka.StateOf{Pipeline: b.config.Name, Partition: part(number)}
	}
	var log bytes.Buffer
	load := func(states kafka.States) (string, error) {
		t.Helper()
		log.Reset()
		kept, err := b.load(states, nil, zerolog.New(&log))
		if err != nil {
			return "", err
		}
		counts, parts := kept.totals.records, kept.parts
		pairs := int64(0)
		for _, p := range parts {
			pairs += p.Records()
		}
		if counts.Released != pairs || counts.Read != counts.Released+counts.Quarantined {
			t.Errorf("the counts are %+v with %d pairs", counts, pairs)
		}
		total := int64(0)
		for _, n := range counts.Reasons {
			total += n
		}
		if total != counts.Quarantined {
			t.Errorf("%d records in quarantine, but reasons %v", counts.Quarantined, counts.Reasons)
		}
		return strings.Repeat("p", len(parts)) + " " + strings.Repeat("q", int(counts.Quarantined)), nil
	}
	clone := func(m map[string][]byte, more ...string) map[string][]byte {
		m = maps.Clone(m)
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = []byte(more[i+1])
		}
		return m
	}
	stranger := of(0)
	stranger.Pipeline = "another"
	own := []string{manifestEntry, "[]", liveEntry, "x"} // not part of the assessment
	for want, states := range map[string]kafka.States{
		" ":      {},
		"pp qqq": {of(0): clone(first, own...), of(1): clone(last)},
		"p q":    {of(0): clone(first), stranger: clone(last)},
		"p qq":   {of(1): clone(last, own...)},
	} {
		if got, err := load(states); err != nil || got != want || log.Len() > 0 {
			t.Errorf("the assessment is %q, want %q (error %v, log %s)", got, want, err, log.String())
		}
	}
	for _, at := range []int32{0, 1} {
		states := kafka.States{of(0): clone(first), of(1): clone(last)}
		states[of(at)][totalsEntry] = []byte("damaged")
		if _, err := load(states); err == nil || !strings.Contains(err.Error(), part(at).String()) ||
			!strings.Contains(err.Error(), "counts") {
			t.Errorf("damaged counts of partition %d: error %v", at, err)
		}
		states = kafka.States{of(0): clone(first), of(1): clone(last)}
		for key := range states[of(at)] {
			if key != totalsEntry {
				states[of(at)][key] = []byte("damaged")
			}
		}
		if _, err := load(states); err == nil ||
			!strings.Contains(err.Error(), "the assessment that is kept of "+part(at).String()) {
			t.Errorf("damaged assessment of partition %d: error %v", at, err)
		}
	}
	// With other masks.
	b.fingerprint = "another"
	if got, err := load(kafka.States{of(0): clone(first), of(1): clone(last)}); err != nil || got != " " ||
		!strings.Contains(log.String(), `"partitions":2`) {
		t.Errorf("states of other masks give %q (error %v, log %s)", got, err, log.String())
	}
}

// A resumed standing equals the kept one. With other masks it begins again, and the log says so; a
// damaged one is an error.
func TestStandingsAreTakenUp(t *testing.T) {
	b := benchOf(t, "")
	b.feed(1, 60, 0, 59)
	kept := keptOf(b, 1)
	delete(kept, totalsEntry)
	l, err := b.loadStanding(maps.Clone(kept), 0)
	if err != nil {
		t.Fatal(err)
	}
	if c := l.counts(); c.Read != 60 || c.Released != 58 || l.Next() != 60 || l.Stale() || b.logText() != "" {
		t.Errorf("the loaded standing has the counts %+v and the next record %d, want 60 read, 58 released, 60", c, l.Next())
	}
	other := b.inForce
	other.fingerprint = "another"
	if l, err = other.loadStanding(maps.Clone(kept), 0); err != nil || l.counts().Read != 0 || !l.Stale() {
		t.Errorf("state of other masks: error %v, standing %+v, want a stale one without records", err, l)
	}
	for key := range kept {
		kept[key] = []byte("damaged")
	}
	if _, err = b.loadStanding(kept, 0); err == nil {
		t.Errorf("damaged state: error %v", err)
	}
	b.measures = false
	if l, err = b.loadStanding(nil, 0); err != nil || l.Standing != nil {
		t.Errorf("without measures: error %v, or there is a standing", err)
	}
}

// If measuring a stream is cancelled, the caller gets the error.
func TestMeasuresOfAStreamEnd(t *testing.T) {
	b := benchOf(t,
		"gate: {rules: [{column: wage, min_efficiency: 0.1}]}\nassess: {replicates: 2, targets: [max], every: {records: 10}, emit: [{log: info}]}\n")
	b.feed(0, 400)
	over, end := context.WithCancelCause(t.Context())
	why := errors.New("over")
	end(why)
	if _, err := b.judge(over); err == nil || b.verdict.last != nil {
		t.Errorf("with an ended context, judge returns %v and leaves a verdict, want an error and none", err)
	}
	if err := b.snapshots.emit(over); err == nil || b.snapshots.pending != nil {
		t.Errorf("with an ended context, emit returns %v, or a snapshot is pending", err)
	}
	if _, err := b.wholeReport(over); err == nil {
		t.Error("with an ended context, wholeReport returns no error")
	}
	rep, err := b.wholeReport(t.Context())
	if err != nil || rep.Records.Read != 400 {
		t.Errorf("the report has error %v and the records %+v, want 400 read", err, rep.Records)
	}
	// Records of an open transaction are not measured: they may never be released.
	if n := rep.Columns[0].Original.N; n != 0 {
		t.Errorf("%d values of an open transaction are measured, want none", n)
	}
	b.standings[part(0)].commit()
	b.feed(1, 30)
	if rep, err = b.wholeReport(t.Context()); err != nil || rep.Columns[0].Original.N != 400 {
		t.Errorf("wholeReport returns error %v and the columns %+v, want 400 values", err, rep.Columns)
	}
}

// The page, the snapshots and the report of a stream say of the rules what a commit does: the
// efficiency is judged from a thousand records on.
func TestTheEfficiencyIsShownAsItIsJudged(t *testing.T) {
	for n, passes := range map[int]bool{efficiencyFrom - 1: true, efficiencyFrom: false} {
		b := benchOf(t,
			"gate: {on_fail: alert, rules: [{column: wage, min_efficiency: 1}]}\nassess: {replicates: 2, targets: [max], every: {records: 10}, emit: [{log: info}], intruder: {inversion: false}}\n")
		b.feed(0, n)
		if b.verdictOf() || b.verdict.last.Passed != passes {
			t.Fatalf("with %d records, the verdict is %+v", n, b.verdict.last)
		}
		if err := b.snapshots.emit(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.standings[part(0)].commit()
		rep, err := b.wholeReport(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, v := range map[string]assess.Verdict{"snapshot": b.snapshots.pending.Gate, "report": rep.Gate} {
			if v.Passed != passes || len(v.Rules) != 1 || v.Rules[0].Passed != passes {
				t.Errorf("the %s of %d records has the verdict %+v", what, n, v)
			}
		}
		b.options.Monitor = monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
		if err := b.presentKept(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		b.options.Monitor.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9464/metrics", nil))
		found := regexp.MustCompile(`(?m)^[^#]*gate_rules_broken\S* (\d+)$`).FindStringSubmatch(w.Body.String())
		if len(found) != 2 || (found[1] == "0") != passes {
			t.Errorf("with %d records, the page has %q failed rules", n, found)
		}
	}
}

// If measuring is cancelled at any point, the caller returns the error and keeps nothing of it: a
// judgement, a snapshot, a page, a report.
func TestMeasuresOfAStreamEndAtEveryStep(t *testing.T) {
	const more = "gate: {rules: [{column: wage, min_efficiency: 0.1}]}\nassess: {replicates: 2, targets: [max], every: {records: 10}, emit: [{log: info}]}\n"
	for name, take := range map[string]func(b *bench, ctx context.Context) (done bool, err error){
		"a judgement": func(b *bench, ctx context.Context) (bool, error) {
			_, err := b.judge(ctx)
			return b.verdict.last != nil, err
		},
		"a snapshot": func(b *bench, ctx context.Context) (bool, error) {
			err := b.snapshots.emit(ctx)
			return b.snapshots.pending != nil, err
		},
		"a page": func(b *bench, ctx context.Context) (bool, error) {
			b.entered, b.options.Monitor = true, monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
			err := b.presentKept(ctx)
			return b.options.Monitor.HasSnapshot(), err
		},
		"a report": func(b *bench, ctx context.Context) (bool, error) {
			rep, err := b.wholeReport(ctx)
			return rep != nil, err
		},
	} {
		failures := 0
		for n := range eventually.Steps {
			b := benchOf(t, more)
			b.feed(0, 40)
			b.standings[part(0)].commit()
			b.feed(1, 20)
			ctx := eventually.Ends(t.Context(), n)
			done, err := take(b, ctx)
			if done == (err != nil) || err != nil && !ctx.Ended() {
				t.Fatalf("%s, context ended at check %d: done %v, error %v", name, n, done, err)
			}
			if err != nil {
				failures++
			}
			if !ctx.Ended() {
				break
			}
		}
		if failures == 0 {
			t.Errorf("%s never failed for an end of the context: the test checks nothing", name)
		}
	}
}
