package shard

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// TestShardsLookAtTheirFiles: a changed file is detected by each shard that reads it and by the
// commit; an additional or missing file by all.
func TestShardsLookAtTheirFiles(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { looksAtItsFiles(t, n) })
	}
}

// TestShardsOpenTheirFiles: a shard opens only the files that it reads, and the first one. It
// succeeds next to unreadable files; the shards that read those files, and the commit, fail.
func TestShardsOpenTheirFiles(t *testing.T) {
	for format := range formats {
		t.Run(format, func(t *testing.T) {
			prepare(t, format, 1, "")
			for i, name := range []string{"a", "b", "c"} {
				formats[format](t, "in/"+name+"."+format, people(2000+10*i))
			}
			swapping(t, "path: in."+format, "path: in")
			want := single(t, format)
			m := planned(t, 3)
			if len(m.Shards) != 3 {
				t.Fatalf("the plan has %d shards, want 3", len(m.Shards))
			}
			last, err := os.ReadFile("in/c." + format)
			if err != nil {
				t.Fatal(err)
			}
			write(t, "in/c."+format, []byte("\xff\xfeneither this nor that"))
			for i := range 2 {
				runShard(t, m, i)
			}
			if _, err := Run(t.Context(), load(t), m, 2, nil, options); err == nil {
				t.Error("a shard runs although one of its files cannot be read")
			}
			write(t, "in/c."+format, last)
			runShard(t, m, 2)
			write(t, "in/b."+format, last)
			if _, err := Commit(t.Context(), load(t), m, "states", options); err == nil ||
				!strings.Contains(err.Error(), "planned with: plan again") {
				t.Errorf("Commit returns %v, want an error that a file has changed", err)
			}
			formats[format](t, "in/b."+format, people(2010))
			if _, err := Commit(t.Context(), load(t), m, "states", options); err != nil {
				t.Fatal(err)
			}
			if records(t, format, "released") != records(t, format, "whole."+format) {
				t.Error("the released records differ from those of one run")
			}
			for _, d := range differences(want, read(t, "report.json"), "") {
				t.Error(d)
			}
		})
	}
}

// TestStreamsThatAreNotOpened: they have names and can be distinguished. They are not read, and are
// only checked for existence.
func TestStreamsThatAreNotOpened(t *testing.T) {
	for format := range formats {
		t.Run(format, func(t *testing.T) {
			prepare(t, format, 1, "")
			for _, name := range []string{"a", "b", "c", "d"} {
				formats[format](t, "in/"+name+"."+format, people(100))
			}
			swapping(t, "path: in."+format, "path: in")
			whole, err := load(t).Source.Config.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Close()
			parts, err := whole.Abilities().Divisible.Divide(t.Context(), 1<<40, connectors.Cut{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := surveyOf(whole)
			if err != nil {
				t.Fatal(err)
			}
			some, err := knowingOf(load(t).Source.Config, found, func(stream int) bool { return stream == 2 }).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer some.Close()
			if !slices.Equal(some.Streams(), whole.Streams()) {
				t.Errorf("the source has the streams %q, want all of them", some.Streams())
			}
			for i, p := range parts {
				_, err := some.Abilities().Divisible.Part(p)
				if opened := i == 0 || i == 2; opened != (err == nil) || err != nil &&
					!strings.Contains(err.Error(), "was not opened with the others") {
					t.Errorf("stream %d: Part returns %v, want an error only for streams that were not opened", i, err)
				}
				stored, err := some.Abilities().Divisible.Stored(i)
				if err != nil || stored.Size == 0 {
					t.Fatalf("stream %d: Stored returns %+v and error %v", i, stored, err)
				}
				stored.Close()
			}
			write(t, "in/b."+format, []byte("another"))
			if err := connectors.Unchanged(some); err != nil {
				t.Errorf("a changed file that is not opened: Unchanged returns %v, want no error", err)
			}
			if err := connectors.Unchanged(whole); err == nil {
				t.Error("a changed file that is opened: want an error of Unchanged")
			}
			os.Remove("in/d." + format)
			if err := connectors.Unchanged(some); err == nil || !strings.Contains(err.Error(), "it is gone") {
				t.Errorf("a removed file that is not opened: Unchanged returns %v, want an error", err)
			}
			formats[format](t, "in/d."+format, people(100))
			write(t, "in/c."+format, []byte("another"))
			if err := connectors.Unchanged(some); err == nil {
				t.Error("a changed file that is needed: want an error of Unchanged")
			}
		})
	}
}

func looksAtItsFiles(t *testing.T, n int) {
	prepare(t, "csv", 1, "")
	files := []string{"in/a.csv", "in/b.csv", "in/c.csv"}
	if err := os.Mkdir("in", 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		formats["csv"](t, name, people(300+200*i))
	}
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "pipeline.yaml", bytes.Replace(text, []byte("in.csv"), []byte("in"), 1))
	m := planned(t, n)
	for i := range m.Shards {
		runShard(t, m, i)
	}
	refused := func(what string, err error, want bool) {
		t.Helper()
		if want != (err != nil) || want && !strings.Contains(err.Error(), "planned with: plan again") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	others := 0
	for stream, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(data)
		at := bytes.LastIndexAny(changed, "0123456789")
		changed[at] = '0' + (changed[at]-'0'+1)%10
		write(t, name, changed)
		for i, s := range m.Shards {
			reads := slices.ContainsFunc(s.Parts, func(p connectors.Part) bool { return p.Stream == stream })
			if !reads {
				others++
			}
			_, err := Run(t.Context(), load(t), m, i, nil, options)
			refused(fmt.Sprintf("%s has changed, shard %d", name, i), err, reads)
		}
		_, err = Commit(t.Context(), load(t), m, "states", options)
		refused(name+" has changed, the commit", err, true)
		write(t, name, data)
	}
	if others == 0 {
		t.Error("every shard reads every file: the test checks little")
	}
	for _, change := range [][2]string{{"in/c.csv", "c.csv"}, {"in/c.csv", "in/cc.csv"}, {"in/a.csv", "in/d.csv"},
		{"in.csv", "in/z.csv"}} {
		if err := os.Rename(change[0], change[1]); err != nil {
			t.Fatal(err)
		}
		for i := range m.Shards {
			_, err := Run(t.Context(), load(t), m, i, nil, options)
			refused(fmt.Sprintf("%s is %s, shard %d", change[0], change[1], i), err, true)
		}
		if err := os.Rename(change[1], change[0]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Commit(t.Context(), load(t), m, "states", options); err != nil {
		t.Fatal(err)
	}
}
