package monitor

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/synthetic"
)

// keptOf shows a snapshot and returns the state kept for the page.
func keptOf(t *testing.T, m *Monitor, k int, sd float64) []byte {
	t.Helper()
	rep := synthetic.Snapshot(k, sd)
	rep.Snapshot = 0
	s := m.Reduce(rep)
	state, err := m.State(s, "masks")
	if err != nil {
		t.Fatal(err)
	}
	m.Show(s)
	return state
}

func columnOf(t *testing.T, m *Monitor) columnDetail {
	t.Helper()
	status, text := get(t, m.Handler(), "/column?name=wage")
	var d columnDetail
	if status != 200 || json.Unmarshal([]byte(text), &d) != nil {
		t.Fatalf("/column is %d", status)
	}
	return d
}

// TestPageIsKeptOverARestart: numbers continue in order; the map, the gate, the table and the lines
// over time are there at once; the report is the one shown before.
func TestPageIsKeptOverARestart(t *testing.T) {
	before, _ := watched(Info{Name: "survey"})
	before.Lag("survey", 0, 7)
	var state []byte
	for k := 1; k <= 4; k++ {
		state = keptOf(t, before, k, 200-10*float64(k))
	}
	after, _ := watched(Info{Name: "survey"})
	if err := after.Resume(state, "masks"); err != nil {
		t.Fatal(err)
	}
	was, is := columnOf(t, before), columnOf(t, after)
	if is.Snapshot != 4 || len(is.History) != 4 || is.History[0].Snapshot != 4 || is.History[3].Snapshot != 1 {
		t.Errorf("snapshot %d, rows %+v", is.Snapshot, is.History)
	}
	if was.Times == "" || is.Times != was.Times || is.Dots != was.Dots || is.Dots == "" {
		t.Error("the dot plot or the lines over time are others after the restart")
	}
	if !strings.Contains(is.SVG, `class="pt`) || is.Utility != was.Utility {
		t.Error("the map or the measures are not there")
	}
	if v := after.state().Gate; !v.Judged || len(v.Rules) == 0 {
		t.Errorf("the gate is not there: %+v", v)
	}
	_, one := get(t, before.Handler(), "/report")
	_, other := get(t, after.Handler(), "/report")
	var a, b bytes.Buffer
	if json.Compact(&a, []byte(one)) != nil || json.Compact(&b, []byte(other)) != nil || a.String() != b.String() {
		t.Error("the report is another one after the restart")
	}
	if after.HasSnapshot() {
		t.Error("nothing has been shown since the start")
	}
	keptOf(t, after, 5, 150)
	if d := columnOf(t, after); d.Snapshot != 5 || len(d.History) != 5 {
		t.Errorf("snapshot %d after the restart, %d rows", d.Snapshot, len(d.History))
	}
	if !after.moments[4].Begins || after.moments[3].Begins {
		t.Error("the first snapshot after a restart does not say that it begins anew")
	}
	// An older state, or one that arrives after something was shown, changes nothing.
	if err := after.Resume(state, "masks"); err != nil || columnOf(t, after).Snapshot != 5 {
		t.Errorf("an old state was taken up: %v", err)
	}
}

// TestRestartKeepsStatesApart: a state that differs by few respondents from the one shown before
// the restart is not shown, because their values would follow.
func TestRestartKeepsStatesApart(t *testing.T) {
	before, _ := watched(Info{Name: "survey"})
	state := keptOf(t, before, 2, 180)
	shownN := columnOf(t, before).N
	for _, c := range []struct {
		more int64
		held bool
	}{{1, true}, {-1, true}, {9, true}, {10, false}, {0, false}} {
		after, _ := watched(Info{Name: "survey"})
		if err := after.Resume(state, "masks"); err != nil {
			t.Fatal(err)
		}
		rep := synthetic.Snapshot(2, 120)
		rep.Columns[0].Original.N += c.more
		after.Snapshot(rep)
		d := columnOf(t, after)
		if d.Held != c.held || c.held != (d.N == shownN && c.more != 0) {
			t.Errorf("%d more: held %v with n = %d, shown before %d", c.more, d.Held, d.N, shownN)
		}
	}
}

// TestResumeOfOtherMeasures: measures of other masks are omitted, and their values over time stay.
func TestResumeOfOtherMeasures(t *testing.T) {
	before, _ := watched(Info{Name: "survey"})
	state := keptOf(t, before, 1, 180)
	after, _ := watched(Info{Name: "survey"})
	if err := after.Resume(state, "other masks"); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(t, after.Handler(), "/report"); status != 404 {
		t.Error("the measures of other masks are shown")
	}
	if keptOf(t, after, 1, 180); len(columnOf(t, after).History) != 2 {
		t.Error("the numbers over time are lost")
	}
}

// TestResumeOfAnything: damaged state, or state of another version, is refused with an error
// without its content, and changes nothing.
func TestResumeOfAnything(t *testing.T) {
	m, _ := watched(Info{Name: "survey"})
	good := keptOf(t, m, 1, 180)
	zip := func(s string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(s))
		_ = z.Close()
		return b.Bytes()
	}
	for what, c := range map[string]struct {
		state []byte
		want  string
	}{
		"text": {[]byte("canary 4711"), "not gzip"}, "cut": {good[:len(good)/2], "unpacked"},
		"no JSON":   {zip("canary 4711"), "not JSON"},
		"newer":     {zip(`{"version":2,"canary":4711}`), "has version 2, this program reads version 1"},
		"no report": {zip(`{"version":1,"of":"masks","at":"2026-11-22T00:00:00Z","report":{"canary":4711}}`), "no report"},
		"number":    {zip(`{"version":1,"number":-4711}`), "damaged"},
		"large":     {zip(`{"version":1}` + strings.Repeat(" ", mostKept)), "unpacked"},
	} {
		after, _ := watched(Info{Name: "survey"})
		err := after.Resume(c.state, "masks")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "4711") ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", what, err)
		}
		if after.view != nil || after.number != 0 || len(after.moments) != 0 {
			t.Errorf("%s: something was taken up", what)
		}
	}
	if err := m.Resume(nil, "masks"); err != nil {
		t.Errorf("a state of before there was one: %v", err)
	}
}

// TestNumbersInOrder: snapshots for the page only and emitted snapshots share one sequence of
// numbers, none of them 0.
func TestNumbersInOrder(t *testing.T) {
	m, _ := watched(Info{})
	last, emitted := int64(0), int64(0)
	for k := range 12 {
		rep := synthetic.Snapshot(k+1, 160)
		if rep.Snapshot = 0; k%3 == 2 {
			emitted++
			rep.Snapshot = emitted
		}
		m.Snapshot(rep)
		d := columnOf(t, m)
		if d.Snapshot <= last || d.History[0].Snapshot != d.Snapshot || d.History[0].Emitted != rep.Snapshot {
			t.Fatalf("snapshot %d after %d, its row %+v", d.Snapshot, last, d.History[0])
		}
		last = d.Snapshot
	}
}

// TestThinned: the newest, the first and an interruption stay, and the number is bounded for any
// number of columns.
func TestThinned(t *testing.T) {
	for _, columns := range []int{1, 40, 400} {
		of := map[string]momentColumn{}
		for c := range columns {
			of[fmt.Sprint(c)] = momentColumn{}
		}
		var list []moment
		for i := range 1500 {
			list = thinned(
				append(list, moment{Number: int64(i + 1), At: time.Unix(int64(i), 0), Begins: i%300 == 0, Columns: of}))
			if len(list) > mostMoments || len(list) > max(fewMoments, mostCells/columns) {
				t.Fatalf("%d moments of %d columns", len(list), columns)
			}
		}
		if n := len(list); list[0].Number != 1 || list[n-1].Number != 1500 || list[n-2].Number != 1499 {
			t.Errorf("%d columns: from %d to %d", columns, list[0].Number, list[n-1].Number)
		}
		for i, k := range list[1:] {
			before := list[i].Number
			if k.Number <= before {
				t.Fatal("out of order")
			}
			// The number of a start is 1 more than a multiple of 300.
			if started := (k.Number-1)/300 > (before-1)/300; started != k.Begins {
				t.Errorf("%d columns: from %d to %d the line begins anew: %v", columns, before, k.Number, k.Begins)
			}
		}
	}
}

// TestDropped: records in quarantine are listed by reason, the most frequent reason first, and
// counted in the metrics.
func TestDropped(t *testing.T) {
	m, _ := watched(Info{})
	whole := map[string]int64{"wage: not a number": 30, "wage: null": 5, "not JSON": 30}
	m.Quarantine(whole, map[string]int64{"wage: null": 2})
	s := m.state()
	if fmt.Sprint(s.Dropped) != "[{not JSON 30} {wage: not a number 30} {wage: null 5}]" || s.DroppedOther != 0 {
		t.Errorf("dropped %v, %d for other reasons", s.Dropped, s.DroppedOther)
	}
	for i := range 40 {
		whole[fmt.Sprintf("column %02d: null", i)] = 1
	}
	m.Quarantine(whole, map[string]int64{"wage: null": 3})
	if s := m.state(); len(s.Dropped) != mostReasons || s.DroppedOther != 40+3-mostReasons {
		t.Errorf("%d reasons, %d for others", len(s.Dropped), s.DroppedOther)
	}
	_, text := get(t, m.Handler(), "/metrics")
	if !strings.Contains(text, "\nsdlfilter_quarantined_records_total{reason=\"wage: null\"} 5\n") {
		t.Error("the metric is not the sum of what has come")
	}
}

// TestResumeTakesTheNewest: of the states of several partitions the newest counts, in any order of
// arrival.
func TestResumeTakesTheNewest(t *testing.T) {
	before, _ := watched(Info{Name: "survey"})
	older, newer := keptOf(t, before, 1, 180), keptOf(t, before, 2, 170)
	for _, states := range [][][]byte{{older, newer}, {newer, older}, {newer, newer, older}} {
		after, _ := watched(Info{Name: "survey"})
		for _, state := range states {
			if err := after.Resume(state, "masks"); err != nil {
				t.Fatal(err)
			}
		}
		if d := columnOf(t, after); d.Snapshot != 2 || len(d.History) != 2 {
			t.Errorf("snapshot %d with %d rows, want 2 with 2", d.Snapshot, len(d.History))
		}
	}
}
