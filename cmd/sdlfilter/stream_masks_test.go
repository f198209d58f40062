package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStreamOfCategories releases messages whose numbers become labels, from every format: labels
// are released and no values, and a message with an unlisted category is not released. Messages
// with a schema that requires a number are refused before any is released.
func TestStreamOfCategories(t *testing.T) {
	t.Parallel()
	const (
		sink  = `{kafka: {brokers: ["BROKER"], topic: out}}`
		other = `{kafka: {brokers: ["BROKER"], topic: out, format: {json: {}}}}`
		masks = `masks: [{recode: {columns: [wage], breaks: [73000000, 73300000, 74000000], labels: [lowlabel, highlabel]}}, {recode: {columns: [kind], map: {a: manykind, b: manykind, c: onekind}}}]`
	)
	for name, format := range map[string]func(*testing.T, *stand) *canaryFormat{
		"json": canaryJSON, "avro": canaryAvro, "protobuf": canaryProtobuf, "arrow": canaryArrow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := canaryStand(t, format)
			to := sink
			if f.registry != nil {
				// Messages of these formats keep the types of their schema.
				s.file("pipeline.yaml", s.canaryText(f, ", until: latest", sink, masks))
				_, stderr := s.run(exitFailed, "run", "pipeline.yaml")
				mustContain(t, stderr,
					"column wage becomes string, and messages of this format keep the types of the source's schema, here float64")
				checkStreamCanaries(t, "stderr", []byte(stderr), true)
				s.checkTopic("out", 0, true)
				to = other
			}
			s.file("pipeline.yaml", s.canaryText(f, ", until: latest", to, masks))
			stdout, stderr := s.run(exitQuarantined, "run", "-v", "--progress", "json", "pipeline.yaml")
			checkStreamCanaries(t, "stdout", []byte(stdout), true)
			checkStreamCanaries(t, "stderr", []byte(stderr), true)
			words := map[string]int{}
			for _, r := range s.checkTopic("out", len(f.good), true) {
				if name != "arrow" {
					var message map[string]string
					if err := json.Unmarshal(r.Value, &message); err != nil || len(message) != 2 {
						t.Fatalf("a released message has %d members: %v", len(message), err)
					}
				}
				for _, word := range []string{"lowlabel", "highlabel", "manykind", "onekind"} {
					words[word] += bytes.Count(r.Value, []byte(word))
				}
			}
			// Wages are 73,184,000.25 + 1000·i: 116 of 400 lie below 73,300,000. Kinds are a, b and
			// c in turn. Valid records in an Arrow message with broken ones are kept.
			for word, want := range map[string]int{"lowlabel": 116, "highlabel": 284, "manykind": 267, "onekind": 133} {
				if words[word] < want || words[word] > want+3 {
					t.Errorf("%s leaves %d times, want %d", word, words[word], want)
				}
			}
			s.checkTopic("bad", 1, true)
			s.checkOutput()
		})
	}
	for name, format := range map[string]func(*testing.T, *stand) *canaryFormat{
		"json": canaryJSON, "avro": canaryAvro, "protobuf": canaryProtobuf, "arrow": canaryArrow,
	} {
		t.Run("sample/"+name, func(t *testing.T) {
			t.Parallel()
			s, f := canaryStand(t, format)
			// Kinds are a, b and c in turn; no record of b is drawn.
			s.file("pipeline.yaml",
				s.canaryText(f, ", until: latest", sink,
					`masks: [{sample: {rate: 1, by: kind, rates: {b: 1e-300}}}, {noise: {columns: [wage], sd: 5000}}]`))
			stdout, stderr := s.run(exitQuarantined, "run", "-v", "--progress", "json", "pipeline.yaml")
			checkStreamCanaries(t, "stdout", []byte(stdout), true)
			checkStreamCanaries(t, "stderr", []byte(stderr), true)
			data, err := os.ReadFile(filepath.Join(s.dir, "out", "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			var report struct {
				Records struct{ Read, Released, Quarantined, Left_out int }
			}
			if err := json.Unmarshal(data, &report); err != nil {
				t.Fatal(err)
			}
			// 133 of 400 good records have kind b. The good records of an Arrow message that also has
			// broken ones are kept.
			r := report.Records
			if r.Left_out < 133 || r.Left_out > 136 || r.Released < 267 || r.Released > 270 ||
				r.Read != r.Released+r.Quarantined+r.Left_out {
				t.Errorf("the report counts %+v", r)
			}
			out := s.checkTopic("out", r.Released/f.records, true)
			for _, m := range out {
				if bytes.Contains(m.Value, []byte(`"kind":"b"`)) {
					t.Error("a record is released that is not drawn")
				}
			}
			if f.records == 1 && len(out) != r.Released {
				t.Errorf("%d messages are released, the report counts %d", len(out), r.Released)
			}
			s.checkTopic("bad", 1, true)
			s.checkOutput()
		})
	}
	t.Run("suppress", func(t *testing.T) {
		t.Parallel()
		s, f := canaryStand(t, canaryJSON)
		s.file("pipeline.yaml", s.canaryText(f, "", sink, `masks: [{suppress: {keys: [kind], k: 3}}]`))
		_, stderr := s.run(exitUsage, "run", "pipeline.yaml")
		mustContain(t, stderr, "masks[0].suppress: must not be used here", "use recode or pram")
	})
}

// Masks with conditions on their column, and on numbers and texts that are not masked, release from a topic what they
// release from a file of the same records, byte by byte: draws go by identity, as a record has another place in a
// topic. A record that lacks a compared value is left as it is, and one that is not meant too.
func TestStreamMasksWhere(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	const n = 400
	var lines []string
	for i := range n {
		beside := fmt.Sprintf(`"age":%d,"status":"s%d"`, i%60, i%3)
		switch i % 9 {
		case 4:
			beside = fmt.Sprintf(`"age":null,"status":"s%d"`, i%3)
		case 7:
			beside = fmt.Sprintf(`"age":%d,"status":null`, i%60)
		}
		lines = append(lines, fmt.Sprintf(`{"id":%d,%s,"wage":%.2f}`, i, beside, personWage(i)))
		s.produce(&kgo.Record{Topic: "in", Partition: int32(i % 2), Value: []byte(lines[i])})
	}
	s.file("in.jsonl", strings.Join(lines, "\n")+"\n")
	columns := []string{`identity: [id]`,
		`columns: {id: {role: other}, age: {role: other}, status: {role: other}, wage: {role: sensitive, decimals: 2}}`,
		`masks: [{noise: {columns: [wage], sd: 50, where: "age >= 16 and status != s1"}}, {bias: {columns: [wage], phi: 0.1, where: "wage > 300"}},` +
			` {topcode: {columns: [wage], upper: 900, where: "status = s2"}}, {truncate: {columns: [wage], lower: 250, where: "age < 30 and wage < 500"}}]`}
	s.config(columns...)
	s.run(exitDone, "run", "-q", "pipeline.yaml")
	s.config(append(columns, `source: {jsonl: {path: in.jsonl}}`, `sink: {jsonl: {path: out.jsonl}}`)...)
	s.run(exitDone, "run", "-q", "--allow-loosening", "pipeline.yaml")
	want := strings.Split(strings.TrimSpace(s.read("out.jsonl")), "\n")
	var streamed []string
	for _, m := range s.messages("out", n) {
		streamed = append(streamed, string(m.Value))
	}
	if slices.Sort(streamed); !slices.Equal(streamed, slices.Sorted(slices.Values(want))) {
		t.Fatalf("%d streamed records are not the %d of a run, such as %s and %s", len(streamed), len(want), streamed[0],
			slices.Min(want))
	}
	changed := 0
	for i, line := range want { // in the order of the file
		var p person
		if err := json.Unmarshal([]byte(line), &p); err != nil || p.ID == nil || *p.ID != i {
			t.Fatalf("record %d is %s: %v", i, line, err)
		}
		wage := personWage(i)
		noise := i%9 != 4 && i%9 != 7 && i%60 >= 16 && i%3 != 1
		below := i%9 != 4 && i%60 < 30 && wage < 250
		above := i%9 != 7 && i%3 == 2 && wage > 900
		meant := noise || wage > 300 || below || above
		if !meant && *p.Wage != wage {
			t.Errorf("%s: no mask is meant for it", line)
		}
		if meant && *p.Wage != wage {
			changed++
		}
	}
	// Of 400 records 67 are below 300 and half of those are meant; a draw leaves a wage as it is with a probability below
	// 1/1,000.
	if changed < 340 {
		t.Errorf("%d records have changed", changed)
	}
}
