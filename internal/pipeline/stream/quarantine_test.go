package stream

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Only the owner can read a file of rejected messages, even if that was different before. Its old
// content stays, entries have the order of their records and are written with their transaction,
// and those of an aborted transaction are not written.
func TestQuarantineInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "bad.jsonl")
	var q streamQuarantine
	if err := q.open(config.Quarantine{JSONL: path}, nil, false); err != nil {
		t.Fatal(err)
	}
	block := func(rows ...int) *microdata.Block {
		b := &microdata.Block{First: 100, N: 10}
		for _, r := range rows {
			b.Rejects = append(b.Rejects, microdata.Reject{Row: r, Column: "wage", Reason: "null"})
		}
		return b
	}
	p := kafka.Partition{Topic: "in", Number: 3}
	add := func(rows ...int) {
		t.Helper()
		if err := q.add(t.Context(), p, block(rows...)); err != nil {
			t.Fatal(err)
		}
	}
	flush := func() {
		t.Helper()
		if err := q.flush(); err != nil {
			t.Fatal(err)
		}
	}
	lines := func() (offsets []int64) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				Offset int64
				Column string
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Column != "wage" || !strings.HasSuffix(line, "}\n") {
				t.Fatalf("error %v, or a wrong entry: %q", err, line)
			}
			offsets = append(offsets, e.Offset)
		}
		return offsets
	}
	flush()
	if got := lines(); len(got) > 0 {
		t.Errorf("without records, the file has the entries %v", got)
	}
	add(7, 2)
	if got := lines(); len(got) > 0 {
		t.Errorf("before the commit, the file has the entries %v", got)
	}
	flush()
	flush() // no entry occurs twice
	add(4)
	q.forget()
	add()
	add(9)
	flush()
	if got, want := lines(), []int64{102, 107, 109}; !slices.Equal(got, want) {
		t.Errorf("the file has entries of the records %v, want %v", got, want)
	}
	if err := errors.Join(q.close(), q.close()); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := q.open(config.Quarantine{JSONL: path}, nil, false); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (error %v), want 0600", info.Mode(), err)
	}
	add(1)
	flush()
	if got, want := lines(), []int64{102, 107, 109, 101}; !slices.Equal(got, want) {
		t.Errorf("after it was opened again, the file has the entries %v, want %v", got, want)
	}
	q.file.Close() // as from the operating system
	add(2)
	if err := q.flush(); !errors.Is(err, os.ErrClosed) || q.lines.Len() > 0 {
		t.Errorf("flush to a closed file returns %v and keeps %d bytes, want os.ErrClosed and 0", err, q.lines.Len())
	}
	if err := q.close(); err != nil {
		t.Errorf("close of a closed file returns %v, want no error", err)
	}
	for _, wrong := range []string{filepath.Join(path, "below a file", "bad.jsonl"), filepath.Dir(path)} {
		if err := q.open(config.Quarantine{JSONL: wrong}, nil, true); err == nil {
			t.Errorf("open of %s gives no error", wrong)
		}
	}
	var none streamQuarantine
	if err := errors.Join(none.open(config.Quarantine{}, nil, false), none.add(t.Context(), p, block(1)), none.flush(),
		none.close()); err != nil || none.lines.Len() > 0 {
		t.Errorf("without a quarantine: error %v, %d bytes kept, want none", err, none.lines.Len())
	}
}

// Assessments are merged only if everything that they depend on is equal.
func TestFingerprints(t *testing.T) {
	const text = `version: 1
key: {file: k}
source: {kafka: {brokers: ["localhost:9"], topics: [in], group: g, format: {json: {}}}}
columns: {wage: {role: sensitive, decimals: 2}, region: {role: other}}
masks: [{noise: {columns: [wage], sd: 3}}]
sink: {kafka: {brokers: ["localhost:9"], topic: out}}
`
	parse := func(old, with string) *config.Pipeline {
		t.Helper()
		p,
			err := config.Parse("s.yaml", []byte(strings.Replace(text, old, with, 1)), config.Options{Environ: func() []string {
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	options := func(change func(o *assess.Options)) assess.Options {
		o := assess.Options{Sample: 10, Extremes: 5,
			Columns: []assess.Column{{Name: "wage", Index: 0, Masked: true}, {Name: "age", Index: 1}}, Carry: []int{2},
			Released: []int{3}}
		if change != nil {
			change(&o)
		}
		return o
	}
	key := keytest.Key(1)
	seen := map[string]string{fingerprint(parse("", ""), options(nil), key): "the first"}
	if len(seen) != 1 || fingerprint(parse("topic: out", "topic: other"), options(nil), key) != fingerprint(parse("", ""),
		options(nil), key) {
		t.Error("the fingerprint depends on the sink, or differs for the same configuration")
	}
	for name, of := range map[string]string{
		"masks":    fingerprint(parse("sd: 3", "sd: 4"), options(nil), key),
		"columns":  fingerprint(parse("decimals: 2", "decimals: 1"), options(nil), key),
		"key":      fingerprint(parse("", ""), options(nil), keytest.Key(2)),
		"sample":   fingerprint(parse("", ""), options(func(o *assess.Options) { o.Sample = 11 }), key),
		"extremes": fingerprint(parse("", ""), options(func(o *assess.Options) { o.Extremes = 6 }), key),
		"mixes":    fingerprint(parse("", ""), options(func(o *assess.Options) { o.Mixes = true }), key),
		"carry":    fingerprint(parse("", ""), options(func(o *assess.Options) { o.Carry = []int{4} }), key),
		"released": fingerprint(parse("", ""), options(func(o *assess.Options) { o.Released = []int{4} }), key),
		"name":     fingerprint(parse("", ""), options(func(o *assess.Options) { o.Columns[0].Name = "pay" }), key),
		"last":     fingerprint(parse("", ""), options(func(o *assess.Options) { o.Columns[1].Name = "years" }), key),
		"index":    fingerprint(parse("", ""), options(func(o *assess.Options) { o.Columns[1].Index = 7 }), key),
		"masked":   fingerprint(parse("", ""), options(func(o *assess.Options) { o.Columns[1].Masked = true }), key),
	} {
		if other, twice := seen[of]; twice {
			t.Errorf("%s has the same fingerprint as %s", name, other)
		}
		seen[of] = name
	}
}
