package shard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Where nothing is measured, shards are released all the same, with their counts; and where nothing
// asks for the records in quarantine, no state has them.
func TestShardsWithoutMeasures(t *testing.T) {
	prepare(t, "csv", 90, "")
	write(t, "pipeline.yaml", []byte(`version: 1
name: shards
key: {file: test.key}
source: {csv: {path: in.csv}}
columns: {id: {role: identifier}, wage: {role: other}, age: {role: other}, region: {role: other}}
masks: [{recode: {columns: [region], map: {nowhere: n}, other: o}}]
sink: {csv: {path: released}}
report: {json: report.json}
`))
	m, result, err := sharded(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	records := int64(0)
	for _, s := range m.Shards {
		records += s.Records
	}
	if r := result.Report; r.Records.Read != records || r.Records.Released != records-r.Records.Quarantined ||
		len(r.Columns) != 0 || !r.Gate.Passed || r.Attack != nil {
		t.Errorf("the report is %+v, with %d records in the source", r, records)
	}
	if _, err := os.Stat("released/part-00000.csv"); err != nil {
		t.Error(err)
	}
	w := &worker{job: &job{config: &config.Pipeline{}}, options: pipeline.Options{Progress: new(pipeline.Progress)},
		state: &State{Reasons: map[string]int64{}}}
	b := new(microdata.Block)
	b.Reset(0, 0, 5, 1)
	b.Reject(1, "wage", "for the test")
	b.Reject(3, "wage", "for the test")
	if w.count(nil, b); w.state.Read != 5 || w.state.Quarantined != 2 || w.state.Reasons["wage: for the test"] != 2 ||
		len(w.state.Entries) != 0 || w.options.Progress.Records() != 5 {
		t.Errorf("the state is %+v and the progress has %d records, want 5 read and 2 in quarantine", w.state,
			w.options.Progress.Records())
	}
}

// digested is a sink of which only the content is asked.
type digested struct {
	connectors.Sink
	content *connectors.Content
	err     error
}

func (d digested) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: func(context.Context) (*connectors.Content, error) {
		return d.content, d.err
	}}
}

// The part of a release that a shard has written must be one file whose digest is known: else the
// shard is not complete.
func TestPartsThatAreNoFile(t *testing.T) {
	broken := errors.New("broken")
	const many = "sink: the part of a release is not one file"
	for _, c := range []struct {
		sink digested
		want string
	}{
		{digested{err: broken}, "sink: broken"},
		{digested{}, many},
		{digested{content: &connectors.Content{}}, many},
		{digested{content: &connectors.Content{Files: make([]connectors.FileContent, 2)}}, many},
	} {
		w := &worker{state: new(State)}
		if err := w.keep(t.Context(), c.sink, "name", "path"); err == nil || err.Error() != c.want ||
			len(w.state.Files) != 0 {
			t.Errorf("keep returns %v with the files %v, want %s and no files", err, w.state.Files, c.want)
		}
	}
}

// A state that says of what it holds that more is behind it than there is, or less than nothing, is
// damaged, though its digest is right.
func TestStatesWhosePartsAreNotThere(t *testing.T) {
	for exchange, sound := range map[int]bool{-1: false, 0: true, 3: true, 8: true, 9: false} {
		text := sealed(fmt.Appendf(nil, `{"exchange_bytes": %d}`+"\n12345678", exchange))
		s, err := parseState("0.state", text, int64(len(text)))
		var damaged *StateError
		if sound && (err != nil || string(s.assessment)+string(s.exchange) != "12345678" || len(s.exchange) != exchange) ||
			!sound && (s != nil || !errors.As(err, &damaged)) {
			t.Errorf("exchange_bytes %d: parseState returns %+v and error %v", exchange, s, err)
		}
	}
}

// A manifest that says of its masks whether they take pairs of records, and is wrong, is damaged.
func TestManifestsThatAreWrongAboutPairs(t *testing.T) {
	prepare(t, "csv", 60, "")
	m := planned(t, 1)
	m.Pairs = !m.Pairs
	var data *pipeline.DataError
	if s, err := Run(t.Context(), load(t), m, 0, nil, options); s != nil || !errors.As(err, &data) ||
		err.Error() != "the manifest is damaged: plan again" {
		t.Errorf("Run returns %v and error %v, want a DataError that the manifest is damaged", s, err)
	}
}

// Surveys that are no longer to be merged are not, and whoever asks is told why.
func TestMergingOfSurveysEnds(t *testing.T) {
	why := errors.New("for the test")
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	w,
		progress := &pairing{job: &job{masked: &pipeline.Release{Plan: new(pipeline.Plan)}},
		paths: []string{"0.survey", "1.survey"}}, new(pipeline.Progress)
	if err := w.merge(ended, progress); !errors.Is(err, why) || progress.Records() != 0 || progress.Total() != 2 {
		t.Errorf("with an ended context, merge returns %v after %d of %d surveys", err, progress.Records(), progress.Total())
	}
}
