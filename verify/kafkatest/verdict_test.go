package kafkatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
)

// undisturbed releases the same topic again without faults, and returns the configuration and the
// values.
func (c *trial) undisturbed(t *testing.T, p pipeline) (string, survey.Values) {
	t.Helper()
	p.group, p.instance, p.brokers, p.delivery, p.sink, p.until = p.group+"-undisturbed", "", nil, "", "", ""
	p.out = p.group
	c.topic(t, p.out, c.records.Partitions)
	config := c.write(t, p)
	filter := c.run(t, config)
	c.await(t, p.group, 2*time.Minute, filter)
	drain(t, filter)
	count := c.expectation().Check(c.read(t, p.out))
	if err := count.Err(); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	return config, count.Values
}

// verdict compares a disturbed release with an undisturbed one: every record once, the same values,
// the same totals of the assessment.
func (c *trial) verdict(t *testing.T, p pipeline, config string, released []survey.Released, e survey.Expectation) {
	t.Helper()
	count := e.Check(released)
	if err := count.Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.Masked(count.Values); err != nil {
		t.Error(err)
	}
	calm, values := c.undisturbed(t, p)
	if err := survey.Same(count.Values, values); err != nil {
		t.Error(err)
	}
	if count.Duplicates > 0 {
		t.Logf("%d records came a second time, with the same values", count.Duplicates)
	}
	// Records released twice are assessed once.
	sameTotals(t, c.totals(t, p.group, config), c.totals(t, p.group+"-undisturbed", calm))
	if p.out != "" {
		c.countElsewhere(t, p.out, e)
	}
}

// totals are the results of the assessment of the whole stream.
type totals struct {
	Records counts                        `json:"records"`
	Columns map[string]map[string]moments `json:"columns"`
}

type moments struct {
	N     *int64   `json:"n"`
	Nulls *int64   `json:"nulls"`
	Mean  *float64 `json:"mean"`
	SD    *float64 `json:"sd"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
}

// totals asks the program for the state kept by a group's members.
func (c *trial) totals(t *testing.T, group, config string) totals {
	t.Helper()
	cmd := exec.Command(program(t), "assess", "--group", group, "--config", config, "--json")
	cmd.Env = process.Environ()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("assess --group %s: %v: %s", group, err, stderr.Bytes())
	}
	var raw struct {
		Records counts                                `json:"records"`
		Columns map[string]map[string]json.RawMessage `json:"columns"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &raw); err != nil {
		t.Fatalf("assess --group %s: %v in %s", group, err, stdout.Bytes())
	}
	out := totals{raw.Records, map[string]map[string]moments{}}
	for _, column := range []string{"wage", "hours"} {
		out.Columns[column] = map[string]moments{}
		for _, side := range []string{"original", "released"} {
			var m moments
			if err := json.Unmarshal(raw.Columns[column][side], &m); err != nil || m.N == nil || m.Mean == nil || m.SD == nil ||
				m.Min == nil || m.Max == nil {
				t.Fatalf("assess --group %s: the moments of the %s %s are missing in %s (%v)", group, side, column, stdout.Bytes(),
					err)
			}
			out.Columns[column][side] = m
		}
	}
	for _, count := range []string{"read", "released", "quarantined"} {
		if _, there := out.Records[count]; !there {
			t.Fatalf("assess --group %s: records.%s is missing in %s", group, count, stdout.Bytes())
		}
	}
	return out
}

// sameTotals compares counts and extremes exactly and moments to a relative 1e-9, because sums over
// partitions may have another order.
func sameTotals(t *testing.T, got, want totals) {
	t.Helper()
	for name := range want.Records {
		if got.Records[name] != want.Records[name] {
			t.Errorf("assessment: %d records are %s, undisturbed %d", got.Records[name], name, want.Records[name])
		}
	}
	for column, sides := range want.Columns {
		for side, w := range sides {
			g := got.Columns[column][side]
			where := fmt.Sprintf("assessment: %s of the %s", column, side)
			if *g.N != *w.N || *g.Min != *w.Min || *g.Max != *w.Max {
				t.Errorf("%s: n, min, max are %d, %v, %v, undisturbed %d, %v, %v", where, *g.N, *g.Min, *g.Max, *w.N, *w.Min,
					*w.Max)
			}
			for name, pair := range map[string][2]float64{"mean": {*g.Mean, *w.Mean}, "sd": {*g.SD, *w.SD}} {
				if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[1]) {
					t.Errorf("%s: the %s is %v, undisturbed %v", where, name, pair[0], pair[1])
				}
			}
		}
	}
}

// countElsewhere lets librdkafka count the release too, if a Python installation has it.
func (c *trial) countElsewhere(t *testing.T, topic string, e survey.Expectation) {
	t.Helper()
	python := os.Getenv("KAFKATEST_PYTHON")
	if python == "" {
		if full {
			t.Error("KAFKATEST_PYTHON must name a Python with confluent-kafka: librdkafka is to count as well")
		}
		return
	}
	wanted := map[string]any{"topic": topic, "counts": e.Counts, "without": e.Without, "repeated": e.Repeated,
		"brokers": c.cluster.Addresses()}
	text, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("count.py")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, script, string(text)).CombinedOutput()
	if err != nil {
		t.Errorf("librdkafka: %v: %s", err, out)
		return
	}
	t.Logf("librdkafka: %s", bytes.TrimSpace(out))
}

// counts are the numeric members of a report's records.
type counts map[string]int64

// UnmarshalJSON implements json.Unmarshaler and ignores everything that is not a number (the counts
// by reason).
func (c *counts) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*c = counts{}
	for name, raw := range all {
		var n int64
		if json.Unmarshal(raw, &n) == nil {
			(*c)[name] = n
		}
	}
	return nil
}
