package shard

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
)

// reseal changes a survey or pairs and writes the correct digest.
func reseal(t *testing.T, path, magic, what string, change func(s *Surveyed)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSurveyed(path, magic, what, text)
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path, magic, what string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSurveyed(path, magic, what, text)
	if err != nil {
		t.Fatal(err)
	}
	return s.content
}

// stateAt reads a state with all that it has.
func stateAt(t *testing.T, path string) *State {
	t.Helper()
	s, err := readState(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	err = s.sample(t.Context(), func() uint32 { return math.MaxUint32 }, func(data []byte) error {
		s.Pieces[i].data = data
		i++
		return nil
	})
	if err != nil || i != len(s.Pieces) {
		t.Fatalf("%d pieces of %d, error %v", i, len(s.Pieces), err)
	}
	return s
}

// restating changes the state of a shard and writes the correct digest.
func restating(t *testing.T, path string, change func(s *State)) {
	t.Helper()
	s := stateAt(t, path)
	change(s)
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
}

// Surveys, pairs and states with a correct digest but impossible content are refused, each with its
// name, and nothing is published.
func TestShardsThatSayWhatCannotBe(t *testing.T) {
	prepare(t, "parquet", 3_000, "")
	swapping(t, "masks:\n",
		"masks:\n  - swap: {keys: [region], attribute: age, columns: [wage], scope: dataset, rate: 0.5, policy: random}\n")
	m := planned(t, 3)
	surveyed(t, m)
	for i := range m.Shards {
		if err := runPaired(t, m, i); err != nil {
			t.Fatal(err)
		}
	}
	pair := func() error { return Pair(t.Context(), load(t), m, "surveys", "again", options) }
	run := func() error { return runPaired(t, m, 1) }
	commit := func() error {
		_, err := Commit(t.Context(), load(t), m, "states", options)
		return err
	}
	part := func(path, magic, what string, section int, from string) func() {
		return func() {
			reseal(t, path, magic, what, func(s *Surveyed) {
				mine, err := split(s.content)
				theirs, other := split(content(t, from, magic, what))
				if err = errors.Join(err, other); err != nil {
					t.Fatal(err)
				}
				mine[section] = theirs[section]
				s.content = mine.join()
			})
		}
	}
	state := func(change func(s *State)) func() {
		return func() { restating(t, "states/2.state", change) }
	}
	const others = "the result of the survey is about records that this shard does not have"
	// Shard 2 must have more records than shard 0, so that its counts are too large for shard 0.
	if m.Shards[2].Records <= m.Shards[0].Records {
		t.Fatalf("shards 0 and 2 have %d and %d records, want more in shard 2: the test checks nothing", m.Shards[0].Records,
			m.Shards[2].Records)
	}
	for name, c := range map[string]struct {
		damage func()
		of     func() error
		want   string
	}{
		"the survey of the next": {part("surveys/1", surveyMagic, "survey", ofChain, "surveys/2"), pair,
			"surveys/1: " + others},
		"the sums of another": {part("surveys/0", surveyMagic, "survey", ofDisplacer, "surveys/2"), pair,
			"surveys/0: " + others},
		"the values of another": {part("surveys/0", surveyMagic, "survey", ofValues, "surveys/2"), pair,
			"surveys/0: the result of the survey is damaged"},
		"the pairs of the next": {part("pairs/1.pairs", pairsMagic, "pair", ofChain, "pairs/2.pairs"), run,
			"pairs/1.pairs: " + others},
		"other digests of pairs": {state(func(s *State) { s.Pairs[0] ^= 1 }), commit,
			"a shard was run with pairs that were changed"},
		"no digest of pairs": {state(func(s *State) { s.Pairs = nil }), commit,
			"a shard was run with pairs that were changed"},
		"more masks": {state(func(s *State) { s.Touched = append(s.Touched, 1) }), commit,
			"states/2.state: is damaged"},
		"fewer masks":     {state(func(s *State) { s.Touched = nil }), commit, "states/2.state: is damaged"},
		"touched below 0": {state(func(s *State) { s.Touched[0] = -1 }), commit, "states/2.state: is damaged"},
		"touched more than read": {state(func(s *State) { s.Touched[0] = s.Read + 1 }), commit,
			"states/2.state: is damaged"},
		"fewer read":         {state(func(s *State) { s.Read-- }), commit, "states/2.state: is damaged"},
		"more in quarantine": {state(func(s *State) { s.Quarantined++ }), commit, "states/2.state: is damaged"},
		"reasons of more": {state(func(s *State) { s.Reasons["null_value"] = 1 << 62 }), commit,
			"states/2.state: is damaged"},
		"reasons below 0": {state(func(s *State) { s.Reasons["x"]--; s.Reasons["y"]++ }), commit,
			"states/2.state: is damaged"},
		"left out below 0": {state(func(s *State) { s.LeftOut = -1 }), commit, "states/2.state: is damaged"},
		"more left out than read": {state(func(s *State) { s.LeftOut = s.Read - s.Quarantined + 1 }), commit,
			"states/2.state: is damaged"},
		"unidentified below 0": {state(func(s *State) { s.Unidentified = -1 }), commit, "states/2.state: is damaged"},
		"entries of more": {
			state(func(s *State) { s.Entries = append(s.Entries, make([]quarantined.FileEntry, s.Quarantined+1)...) }), commit,
			"states/2.state: is damaged"},
		"left out but assessed": {state(func(s *State) { s.LeftOut++; s.Released-- }), commit,
			"shard 2: its assessment is of other records than it has released"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := map[string][]byte{}
			for _, path := range []string{"surveys/0", "surveys/1", "pairs/1.pairs", "states/1.state", "states/2.state"} {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				kept[path] = text
			}
			defer func() {
				for path, text := range kept {
					write(t, path, text)
				}
			}()
			c.damage()
			if err := c.of(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v, want %q without the canary", err, c.want)
			}
			for _, path := range []string{"released", "report.json", "again"} {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s exists in spite of the error", path)
				}
			}
		})
	}
	// Pairs with another digest are used by their own shard, but not by the commit, which compares
	// them with the pairs that all other shards used.
	reseal(t, "pairs/1.pairs", pairsMagic, "pair", func(s *Surveyed) {
		mine, err := split(s.content)
		if err != nil {
			t.Fatal(err)
		}
		mine[ofValues] = []byte("[]")
		s.content = mine.join()
	})
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if err := commit(); err == nil || !strings.Contains(err.Error(), "pairs that were changed after") {
		t.Errorf("changed pairs: Commit returns %v, want an error", err)
	}
	if err := Pair(t.Context(), load(t), m, "surveys", "pairs", options); err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if err := commit(); err != nil {
		t.Error(err)
	}
}

// A manifest is refused when it is read if its shards omit records or contain some twice.
func TestManifestsOfAllRecords(t *testing.T) {
	prepare(t, "parquet", 3_000, "")
	planned(t, 3)
	text, err := os.ReadFile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m *Manifest){
		"nothing":                nil,
		"a shard twice":          func(m *Manifest) { m.Shards[1] = m.Shards[0] },
		"no shard between":       func(m *Manifest) { m.Shards = append(m.Shards[:1], m.Shards[2]) },
		"a record more":          func(m *Manifest) { m.Shards[0].Parts[0].Records++ },
		"a record more in sum":   func(m *Manifest) { m.Shards[0].Records++ },
		"below 0":                func(m *Manifest) { m.Shards[0].Parts[0].Records, m.Shards[0].Records = -1, -1 },
		"a file that is not":     func(m *Manifest) { m.Shards[2].Parts[0].Stream = 1 },
		"a file without a shard": func(m *Manifest) { m.Files = append(m.Files, m.Files[0]) },
		"a shard of nothing":     func(m *Manifest) { m.Shards = append(m.Shards, Shard{}) },
		"more than there can be": func(m *Manifest) {
			more := Shard{Records: 1<<63 - 1, Parts: append(m.Shards[2].Parts[:0:0], m.Shards[2].Parts[0])}
			more.Parts[0].First, more.Parts[0].Records = m.Shards[2].Parts[0].First+m.Shards[2].Records, more.Records
			m.Shards = append(m.Shards, more)
		},
	} {
		m := &Manifest{}
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(m); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(m)
		}
		changed, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var data *pipeline.DataError
		_, err = parse("plan.json", changed)
		if (err == nil) != (change == nil) || err != nil &&
			(!errors.As(err, &data) ||
				!strings.Contains(err.Error(), "plan.json: is damaged: its shards do not contain each record")) {
			t.Errorf("manifest %s: error %v", name, err)
		}
	}
}

// FuzzShardFiles: for any bytes, a survey, a pairing, a state and a manifest are read or refused,
// and whatever is read can be written again.
func FuzzShardFiles(f *testing.F) {
	f.Add([]byte(surveyMagic + `{"plan":"p","shard":1}` + "\n\x01a\x00\x00"))
	f.Add([]byte(pairsMagic + `{"plan":"p","shard":1,"pairing":"q"}` + "\n\x00\x00\x01a"))
	f.Add(
		sealed(
			[]byte(`{"plan":"p","shard":1,"read":3,"touched":[1],"exchange_bytes":1,"pieces":[{"lowest":1,"bytes":0}]}` +
				"\nab")))
	f.Add(
		[]byte(`{"schema":"` + ManifestSchema + `","files":[{"name":"a"}],"shards":[{"parts":[{"records":1}],"records":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		digest := sha256.Sum256(text)
		sum := digest[:]
		for magic, what := range map[string]string{surveyMagic: "survey", pairsMagic: "pair"} {
			if s, err := parseSurveyed("x", magic, what, append(bytes.Clone(text), sum...)); err == nil {
				if found, err := split(s.content); err == nil && !bytes.Equal(found.join(), s.content) &&
					len(found.join()) > len(s.content) {
					t.Error("a file is longer when it is written again")
				}
			}
		}
		for _, text := range [][]byte{text, sealed(text)} {
			if s, err := parseState("x", text, int64(len(text))); err == nil {
				_ = s.fits(&Shard{Records: 3}, 1)
			}
		}
		if m, err := parse("x", text); err == nil {
			again, err := m.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if same, err := parse("x", again); err != nil || same.id != m.id {
				t.Errorf("a manifest that is written and read again has another id (error %v)", err)
			}
		}
	})
}
