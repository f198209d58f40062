package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
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
				mustContain(t, stderr, "column wage becomes string, and messages of this format keep the types of the source's schema, here float64")
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
			s.file("pipeline.yaml", s.canaryText(f, ", until: latest", sink, `masks: [{sample: {rate: 1, by: kind, rates: {b: 1e-300}}}, {noise: {columns: [wage], sd: 5000}}]`))
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
			if r.Left_out < 133 || r.Left_out > 136 || r.Released < 267 || r.Released > 270 || r.Read != r.Released+r.Quarantined+r.Left_out {
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
