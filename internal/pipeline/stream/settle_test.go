package stream

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

const settled = `version: 1
key: {file: k}
source: {kafka: {brokers: ["localhost:9"], topics: [in], group: g, format: {json: {}}}}
columns: {wage: {role: sensitive, decimals: 2}, region: {role: other}}
masks: [{noise: {columns: [wage], sd: 3}}]
sink: {kafka: {brokers: ["localhost:9"], topic: out}}
`

// The state of a stream is bounded, the measures so far are not final, and a plan that does not fit
// the columns is refused at its step.
func TestWhatFollowsFromAConfiguration(t *testing.T) {
	var said bytes.Buffer
	settle := func(text, rows string) (inForce, error) {
		t.Helper()
		p, err := config.Parse("s.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "in.csv")
		if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := (&csv.SourceConfig{Path: path}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		f := inForce{config: p}
		return f, f.settle(t.Context(), src, keytest.Key(1), zerolog.New(&said), new(pipeline.Progress))
	}
	f, err := settle(settled, "wage,region\n1.5,a\n2.25,b\n")
	if err != nil {
		t.Fatal(err)
	}
	if !f.measures || f.masked.Options.OrderBins != 2048 || len(f.masked.Options.Columns) != 1 ||
		len(f.fingerprint) != 32 || f.masked.Chain == nil || f.masked.Plan == nil {
		t.Errorf("settle: measures %v, %d bins, columns %v, fingerprint %q", f.measures, f.masked.Options.OrderBins,
			f.masked.Options.Columns, f.fingerprint)
	}
	file := strings.NewReplacer(`kafka: {brokers: ["localhost:9"], topics: [in], group: g, format: {json: {}}}`,
		"csv: {path: in.csv}", `kafka: {brokers: ["localhost:9"], topic: out}`, "csv: {path: out.csv}").Replace(settled)
	if f, err := settle(file, "wage,region\n1.5,a\n2.25,b\n"); err != nil || f.masked.Options.OrderBins != 0 {
		t.Errorf("a file as source: error %v, %d bins, want 0", err, f.masked.Options.OrderBins)
	}
	// What a percentage of equal values masks is said, as of a file.
	said.Reset()
	equal := strings.Replace(file, "sd: 3", "sd: 10%", 1)
	if _, err := settle(equal, "wage,region\n7.25,a\n7.25,b\n"); err != nil ||
		!strings.Contains(said.String(), `"column":"wage"`) {
		t.Errorf("equal values: error %v, the log is %q, want a warning about wage", err, &said)
	}
	none := strings.Replace(settled, "masks: [{noise: {columns: [wage], sd: 3}}]", "", 1)
	none = strings.Replace(none, "wage: {role: sensitive, decimals: 2}", "wage: {role: other}", 1)
	if f, err := settle(none, "wage,region\n1.5,a\n2.25,b\n"); err != nil || f.measures {
		t.Errorf("nothing to measure: measures %v, error %v", f.measures, err)
	}
	for name, c := range map[string]struct{ old, with, rows, want string }{
		"no column":  {"", "", "wages,region\n1,a\n", "columns.wage: the source has no such column"},
		"no numbers": {"", "", "wage,region\nx,a\n", "masks[0].noise.columns: wage is string"},
		"no profile": {"sink:", "profile: gone.yaml\nsink:", "wage,region\n1.25,a\n", "profile: "},
	} {
		if _, err := settle(strings.Replace(settled, c.old, c.with, 1), c.rows); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

// Without an assessment the records are counted. Records of an open transaction are separate: they
// all count while it is open, and afterwards only if it was committed. Held records are not
// released.
func TestRecordsAreCountedWithoutAnAssessment(t *testing.T) {
	block := func(n int, rejected ...int) *microdata.Block {
		b := &microdata.Block{N: n}
		for _, r := range rejected {
			b.Reject(r, "wage", "null")
		}
		return b
	}
	k := &keptStanding{totals: totals{records: true}}
	add := func(b *microdata.Block, held bool) {
		t.Helper()
		if err := k.add(b, held); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, got report.Records, read, released, quarantined, held, reasons int64) {
		t.Helper()
		if got.Read != read || got.Released != released || got.Quarantined != quarantined || got.Held != held ||
			got.Reasons["wage: null"] != reasons {
			t.Errorf("%s: the counts are %+v", what, got)
		}
	}
	add(block(10, 2, 9), false)
	add(block(5), false)
	expect("open", k.openCounts(), 15, 13, 2, 0, 2)
	expect("in all", k.counts(), 15, 13, 2, 0, 2)
	k.rollback()
	expect("aborted", k.counts(), 0, 0, 0, 0, 0)
	add(block(10, 2, 9), false)
	k.commit()
	expect("committed", k.counts(), 10, 8, 2, 0, 2)
	expect("nothing open", k.openCounts(), 0, 0, 0, 0, 0)
	add(block(4, 1), true)
	expect("held back", k.openCounts(), 4, 0, 1, 3, 1)
	expect("in all with what is held", k.counts(), 14, 8, 3, 3, 3)
	k.rollback()
	expect("as before", k.counts(), 10, 8, 2, 0, 2)
	s := &stream{standings: map[kafka.Partition]*keptStanding{}}
	for i, n := range []int{1, 20, 300} {
		l := &keptStanding{totals: totals{records: true}}
		if err := l.add(block(n), false); err != nil {
			t.Fatal(err)
		}
		s.standings[kafka.Partition{Topic: "t", Number: int32(2 - i)}] = l
	}
	expect("all partitions", s.counts(), 321, 321, 0, 0, 0)
	for i, p := range s.partitions() {
		if p.Number != int32(i) {
			t.Errorf("partition %d has the index %d", p.Number, i)
		}
	}
	if s.standingOf(kafka.Partition{Topic: "t", Number: 1}) == nil ||
		s.standingOf(kafka.Partition{Topic: "u", Number: 1}) != nil {
		t.Error("standingOf returns the standing of another partition, or none")
	}
	if whole, err := s.whole(true); whole != nil || err != nil {
		t.Errorf("without measures, whole returns %v and error %v, want nil and nil", whole, err)
	}
}

// The cause of an interruption can be queried, and the last transaction has one minute unless
// configured otherwise.
func TestInterruptions(t *testing.T) {
	if of := errors.New("x"); !errors.Is(interruption{of}, of) {
		t.Error("an interruption does not unwrap to its error")
	}
	if got := drainTime(pipeline.Options{}); got.Seconds() != 60 {
		t.Errorf("the default drain time is %v, want 60 s", got)
	}
	if got := drainTime(pipeline.Options{Drain: 5}); got != 5 {
		t.Errorf("the drain time is %v, want the option", got)
	}
}
