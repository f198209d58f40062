package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// livePage returns the address of the live page once the program serves it.
func (p *process) livePage() string {
	p.t.Helper()
	p.until("serving metrics")
	return regexp.MustCompile(`"address":"(http://[^"]+)"`).FindStringSubmatch(p.log())[1]
}

// liveState is the content of the page's newest event.
type liveState struct {
	HasSnapshot bool  `json:"has_snapshot"`
	Last        int64 `json:"last_snapshot"`
	Lag         struct{ Total *int64 }
	Gate        struct{ Judged, Passed bool }
	Dropped     []struct {
		Reason  string
		Records int
	}
}

func liveStateAt(t *testing.T, address string) (s liveState) {
	t.Helper()
	var text string
	eventually.True(t, "an event of the page's state", func() (whole bool) {
		_, text, _ = strings.Cut(string(fetch(t, address+"/events")), "event: state\ndata: ")
		text, _, whole = strings.Cut(text, "\n")
		return whole
	})
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return s
}

// TestKilledStreamKeepsItsPage kills a stream with SIGKILL repeatedly, when it is idle and during
// transactions. The page's content was committed with its records, so the next program continues
// from it: in order, with every record counted once, and on an idle stream without waiting for a
// record.
func TestKilledStreamKeepsItsPage(t *testing.T) {
	racetest.Alone(t)
	t.Parallel()
	s := newStand(t)
	s.config(endless, `gate: {on_fail: alert, rules: [{column: wage, target: max, knowledge: index, max_risk: 1}]}`)
	shows := func(address string, released int) bool {
		return bytes.Contains(fetch(t, address+"/report"), fmt.Appendf(nil, `"released": %d`, released))
	}
	const each, rounds = 300, 5
	last := int64(0) // the highest number shown on any page
	for round := range rounds {
		p := s.start("run", "--listen", "127.0.0.1:0", "pipeline.yaml")
		address := p.livePage()
		sent := (round + 1) * each
		for from := round * each; from < sent; from += each / 10 {
			s.persons(from, from+each/10)
		}
		s.produce(&kgo.Record{Topic: "in", Partition: int32(round % 2), Value: []byte(`canary`)})
		if round%2 == 0 {
			eventually.True(t, "a page of all records", func() bool { return shows(address, sent) })
			if now := liveStateAt(t, address); now.Last <= last {
				t.Errorf("round %d: the snapshot %d comes after %d", round, now.Last, last)
			} else {
				last = now.Last
			}
		} else { // during the transactions of this round
			s.messages("out", round*each+1)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.ended
	}
	s.released("out", rounds*each)

	p := s.start("run", "--listen", "127.0.0.1:0", "pipeline.yaml")
	address := p.livePage()
	var now liveState
	eventually.True(t, "a page of the idle stream", func() bool {
		now = liveStateAt(t, address)
		return now.HasSnapshot && now.Lag.Total != nil && now.Gate.Judged && shows(address, rounds*each)
	})
	if now.Last < last || !now.Gate.Passed || *now.Lag.Total != 0 {
		t.Errorf("the idle stream's page shows %+v after the snapshot %d", now, last)
	}
	dropped := 0
	for _, d := range now.Dropped {
		dropped += d.Records
	}
	if dropped != rounds {
		t.Errorf("%d records were dropped, want %d: %+v", dropped, rounds, now.Dropped)
	}
	var column struct{ History []struct{ Snapshot int64 } }
	if err := json.Unmarshal(pageOf(fetch(t, address+"/column?name=wage")), &column); err != nil ||
		len(column.History) < 2 {
		t.Fatalf("a history of %d snapshots, %v", len(column.History), err)
	}
	for i, h := range column.History[1:] { // the newest comes first
		if newer := column.History[i].Snapshot; h.Snapshot >= newer {
			t.Errorf("the snapshot %d comes after %d", newer, h.Snapshot)
		}
	}
	for _, path := range []string{"/report", "/column?name=wage", "/metrics"} {
		if bytes.Contains(fetch(t, address+path), []byte("canary")) {
			t.Errorf("%s holds a value", path)
		}
	}
}

// pageOf returns the result of fetch without the added headers.
func pageOf(body []byte) []byte {
	text, _, _ := bytes.Cut(body, []byte("\n"))
	return text
}
