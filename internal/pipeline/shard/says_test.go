package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// If a state does not exist, the error names the file once.
func TestStatesThatAreNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := readState(t.Context(), "nowhere.state")
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), "nowhere.state") != 1 {
		t.Errorf("missing state: error %v, want one that names it once", err)
	}
	if err := unread("s3://bucket/x.state", fs.ErrExist); err != fs.ErrExist {
		t.Errorf("unread changes the error of an object, which has its name already: %v", err)
	}
	if err := unread("x.state", fs.ErrExist); !errors.Is(err, fs.ErrExist) ||
		!strings.HasPrefix(err.Error(), "x.state: ") {
		t.Errorf("unread of a file's error returns %v, want the name in front", err)
	}
}

// Warnings of a report are in the log as well, first and last.
func TestCommitSaysWhatItWarnsOf(t *testing.T) {
	prepare(t, "csv", 50, "")
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	from, to := bytes.Index(text, []byte("masks:\n")), bytes.Index(text, []byte("sink:"))
	masks := "masks:\n  - noise: {columns: [wage], sd: 1e-9}\n  - noise: {columns: [wage], sd: 1e-8}\n"
	write(t, "pipeline.yaml", slices.Concat(text[:from], []byte(masks), text[to:]))
	m := planned(t, 1)
	runShard(t, m, 0)
	var log bytes.Buffer
	o := options
	o.Log = zerolog.New(&log)
	result, err := Commit(context.Background(), load(t), m, "states", o)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Report.Warnings) < 2 {
		t.Fatalf("the report has %d warnings: the test checks nothing", len(result.Report.Warnings))
	}
	var messages []string
	for line := range bytes.Lines(log.Bytes()) {
		var e struct{ Level, Message string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Level == "warn" {
			messages = append(messages, e.Message)
		}
	}
	for _, w := range result.Report.Warnings {
		if !slices.Contains(messages, w) {
			t.Errorf("the log does not contain %q", w)
		}
	}
}
