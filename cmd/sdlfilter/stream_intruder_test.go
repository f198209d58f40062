package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The intruder attacks the records available in topics: a file job's gate uses the results; a
// stream only reports them and refuses rules about them.
func TestIntruderOfTopics(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 400)
	const assessSection = `assess: {replicates: 0, keys: [wage, region], every: {records: 100}, emit: [{jsonl: out/snapshots.jsonl}], ` +
		`intruder: {linkage: {distance: gower}, bayes: {}, uniqueness: {}, inversion: true}}`
	file := []string{`sink: {csv: {path: out/release.csv}}`, assessSection, `report: {json: out/report.json}`}

	for _, rule := range []string{"{max_linked: 0}", "{min_k: 101}", "{max_individual_risk: 0.001}",
		"{max_correct_links: 0.5}"} {
		s.config(append(file, `gate: {rules: [`+rule+`]}`)...)
		stdout, _ := s.run(exitRefused, "run", "pipeline.yaml")
		mustContain(t, stdout, "Intruder", "✗")
		if _, err := os.Stat(filepath.Join(s.dir, "out/release.csv")); !os.IsNotExist(err) {
			t.Fatalf("%s: the release is there: %v", rule, err)
		}
	}
	s.config(append(file, `gate: {rules: [{max_linked: 0.9}, {max_individual_risk: 1}, {max_correct_links: 300}]}`)...)
	s.run(exitDone, "run", "pipeline.yaml")
	if n := len(s.filedIn("out/release.csv")); n != 400 {
		t.Errorf("%d records released, want 400", n)
	}
	report := object(t, []byte(s.read("out/report.json")))
	if k := figure(t, report, "attack", "uniqueness", "min_k"); !(k >= 1 && k < 100) {
		t.Errorf("min_k %v: wages tell records of a region apart, if not for certain", k)
	}
	if n := figure(t, report, "attack", "records"); n != 400 {
		t.Errorf("an attack on %v records, want 400", n)
	}
	if at(t, report, "gate", "passed") != true || len(at(t, report, "gate", "rules").([]any)) != 4 {
		t.Errorf("gate: %v", at(t, report, "gate"))
	}

	// From topic to topic.
	s.config(assessSection, `report: {json: out/stream.json}`, `gate: {on_fail: alert, rules: [{max_linked: 0.5}]}`)
	_, stderr := s.run(exitUsage, "run", "pipeline.yaml")
	mustContain(t, stderr, "gate.rules[0]")
	s.config(assessSection, `report: {json: out/stream.json}`)
	s.run(exitDone, "run", "--allow-loosening", "pipeline.yaml", "--set", "source.kafka.group=stream")
	s.released("out", 400)
	report = object(t, []byte(s.read("out/stream.json")))
	if n := figure(t, report, "attack", "records"); n != 400 {
		t.Errorf("an attack on %v records of the stream, want 400", n)
	}
	// The attack command reads the same messages as a run but does not consume them.
	for range 2 {
		stdout, _ := s.run(exitDone, "attack", "--json", "pipeline.yaml", "--set", "source.kafka.group=attack")
		if n := figure(t, object(t, []byte(stdout)), "records"); n != 400 {
			t.Errorf("an attack on %v records of the topic, want 400", n)
		}
	}
}
