package rolling

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// broker is the third party of a commit: the content of a transaction survives the death of any
// process, and nothing else does.
type broker struct {
	manifest Manifest // of the last committed transaction
	offset   int64    // of the next record
}

// A process that dies at any step is followed by one that continues at the end of the last
// committed transaction. Then every record exists once.
func TestCrashAtEveryStep(t *testing.T) {
	const last = 99
	steps := []string{"before the first record", "while writing", "after Finish", "after the commit", "while publishing",
		"after publishing", "nowhere"}
	for _, crash := range steps {
		for _, again := range steps { // the successor dies too
			t.Run(crash+", then "+again, func(t *testing.T) {
				root := t.TempDir()
				var b broker
				for _, at := range []string{crash, again, "nowhere"} {
					life(t, root, &b, at, last)
				}
				if got := offsets(t, root, "survey"); !slices.Equal(got, span(0, last)) {
					t.Errorf("records %v", got)
				}
				if _, temp := tree(t, root); len(temp) != 0 {
					t.Errorf("left are %q", temp)
				}
				if final, _ := tree(t, root); !slices.IsSorted(final) {
					t.Errorf("names do not sort: %q", final)
				}
			})
		}
	}
}

// life is one process that filters up to the offset last and dies in its third transaction.
func life(t *testing.T, root string, b *broker, crash string, last int64) {
	f, _ := files(t, root, nil)
	defer f.Close() // the files of a dead process are closed and not locked
	if err := f.Recover("survey", 0, b.manifest); err != nil {
		t.Fatal(err)
	}
	for k := 1; b.offset <= last; k++ {
		dying := k == 3
		die := func(step string) bool { return dying && step == crash }
		if die("before the first record") {
			return
		}
		to := min(b.offset+9, last)
		if put(t, f, "survey", 0, b.offset, to); die("while writing") {
			return
		}
		m := finish(t, f)
		if die("after Finish") {
			return
		}
		if b.manifest, b.offset = m, to+1; die("after the commit") {
			return
		}
		if die("while publishing") { // one of two steps: it has its name, and is not marked
			if _, err := f.name(m[0]); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := f.Publish(m); err != nil {
			t.Fatal(err)
		}
		if die("after publishing") {
			return
		}
	}
}

// The transaction of a zombie has failed: it removes its own files, and none of its successor's,
// which does not wait for it.
func TestZombie(t *testing.T) {
	root := t.TempDir()
	zombie, _ := files(t, root, nil)
	put(t, zombie, "survey", 0, 0, 9)
	m := commit(t, zombie)
	put(t, zombie, "survey", 0, 10, 19)
	finish(t, zombie)

	heir, _ := files(t, root, nil)
	if err := heir.Recover("survey", 0, m); err != nil {
		t.Fatal(err)
	}
	put(t, heir, "survey", 0, 10, 29)
	next := finish(t, heir)
	if err := zombie.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := heir.Publish(next); err != nil {
		t.Fatal(err)
	}
	if got := offsets(t, root, "survey"); !slices.Equal(got, span(0, 29)) {
		t.Errorf("records %v", got)
	}
	if _, temp := tree(t, root); len(temp) != 0 {
		t.Errorf("left are %q", temp)
	}
}

// A zombie that had committed finds that its successor has named its files, and the other way
// round.
func TestPublishedByBoth(t *testing.T) {
	root := t.TempDir()
	zombie, _ := files(t, root, nil)
	put(t, zombie, "survey", 0, 0, 9)
	m := finish(t, zombie)
	heir, _ := files(t, root, nil)
	if err := heir.Recover("survey", 0, m); err != nil {
		t.Fatal(err)
	}
	if err := zombie.Publish(m); err != nil {
		t.Fatal(err)
	}
	if err := heir.Recover("survey", 0, m); err != nil {
		t.Fatal(err)
	}
	if got := offsets(t, root, "survey"); !slices.Equal(got, span(0, 9)) {
		t.Errorf("records %v", got)
	}
}

// After the commit Abort keeps the files that Publish could not name, for Recover.
func TestAbortAfterAFailedPublish(t *testing.T) {
	root := t.TempDir()
	f, _ := files(t, root, nil)
	put(t, f, "survey", 0, 0, 9)
	m := finish(t, f)
	final := filepath.Join(root, "survey", m[0].Final)
	if err := os.WriteFile(final, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Publish(m); err == nil || !strings.Contains(err.Error(), final) {
		t.Fatalf("another file of that name: %v", err)
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(final); err != nil {
		t.Fatal(err)
	}
	if err := f.Recover("survey", 0, m); err != nil {
		t.Fatal(err)
	}
	if got := offsets(t, root, "survey"); !slices.Equal(got, span(0, 9)) {
		t.Errorf("records %v", got)
	}
}

func TestLostFiles(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, f *Files, root string, m Manifest)
		want  string // of the error; "": none
	}{
		{"gone before it was published", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, os.Remove(f.pendingPath("survey", m[0].Temp)))
		}, "removed outside of this program"},
		{"cut short before it was published", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, os.Truncate(f.pendingPath("survey", m[0].Temp), 10))
		}, "has 10 bytes of"},
		{"one byte short before it was published", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, os.Truncate(f.pendingPath("survey", m[0].Temp), m[0].Bytes-1))
		}, "records that are committed have been lost"},
		{"one byte longer before it was published", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, os.Truncate(f.pendingPath("survey", m[0].Temp), m[0].Bytes+1))
		}, "records that are committed have been lost"},
		{"as long as it was", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, os.Truncate(f.pendingPath("survey", m[0].Temp), m[0].Bytes))
		}, ""},
		{"taken away after it was published", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, f.Publish(m))
			must(t, os.Remove(filepath.Join(root, "survey", m[0].Final)))
		}, ""},
		{"its day taken away before it was published", func(t *testing.T, f *Files, root string, m Manifest) {
			must(t, os.Remove(filepath.Dir(filepath.Join(root, "survey", m[0].Final))))
		}, ""},
	} {
		root := t.TempDir()
		f, _ := files(t, root, nil)
		put(t, f, "survey", 0, 0, 9)
		m := finish(t, f)
		c.spoil(t, f, root, m)
		err := f.Recover("survey", 0, m)
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "survey")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Records that were released before are not released a second time.
func TestFinishRefusesAFileThatIsThere(t *testing.T) {
	root := t.TempDir()
	f, _ := files(t, root, nil)
	put(t, f, "survey", 0, 0, 9)
	commit(t, f)
	put(t, f, "survey", 0, 0, 9)
	if _, err := f.Finish(t.Context()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Fatalf("got %v", err)
	}
	must(t, f.Abort())
	if final, temp := tree(t, root); len(final) != 1 || len(temp) != 0 {
		t.Errorf("there are %q and %q", final, temp)
	}
}

// Recover removes only files that this program made for the partition.
func TestRecoverRemovesItsOwn(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "survey", pendingFolder)
	must(t, os.MkdirAll(folder, 0o777))
	for name, stays := range map[string]bool{
		".part-00003-0000000000000000000-0123456789abcdef.parquet.sdlfilter-tmp":  false,
		".published-00003-0123456789abcdef.json.sdlfilter-tmp":                    false,
		".part-00004-0000000000000000000-0123456789abcdef.parquet.sdlfilter-tmp":  true, // another partition
		".part-100003-0000000000000000000-0123456789abcdef.parquet.sdlfilter-tmp": true,
		".part-00003.parquet.sdlfilter-tmp":                                       true, // another maker
		"part-00003-0000000000000000000-0123456789abcdef.parquet":                 true,
		"thesis.docx": true,
	} {
		must(t, os.WriteFile(filepath.Join(folder, name), nil, 0o666))
		f, _ := files(t, root, nil)
		must(t, f.Recover("survey", 3, nil))
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, _ := files(t, root, nil)
	must(t, f.Recover("unheard-of", 0, nil))
	if err := f.Recover("../survey", 0, nil); err == nil {
		t.Error("a topic that leads out is no error")
	}
}

// FuzzRecover: for any content of a topic in place of a manifest, nothing outside the folders of
// files is touched, and no file with a final name.
func FuzzRecover(f *testing.F) {
	for _, seed := range []string{
		`[]`, `null`, `{}`, `[{"topic":"survey","partition":0,"temp":"x","final":"y"}]`,
		`[{"topic":"..","partition":0,"temp":".part-00000-0000000000000000000-0123456789abcdef.parquet.sdlfilter-tmp","final":"date=2026-01-31/part-00000-0000000000000000000-0000000000000000009.parquet"}]`,
		`[{"topic":"survey","partition":0,"temp":".part-00000-0000000000000000000-0123456789abcdef.parquet.sdlfilter-tmp","final":"date=2026-01-31/part-00000-0000000000000000000-0000000000000000009.parquet","bytes":4}]`,
		`[{"topic":"survey","partition":0,"temp":"../../secret","final":"../../gone"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m Manifest
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		outside := t.TempDir()
		root := filepath.Join(outside, "root")
		must(t, os.MkdirAll(filepath.Join(root, "survey", pendingFolder), 0o777))
		must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("PAR1"), 0o666))
		temp := filepath.Join(root, "survey", pendingFolder,
			".part-00000-0000000000000000000-0123456789abcdef.parquet.sdlfilter-tmp")
		must(t, os.WriteFile(temp, []byte("PAR1"), 0o666))
		fl, _ := files(t, root, nil)
		err := fl.Recover("survey", 0, m)
		var found []string
		werr := filepath.WalkDir(outside, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				rel, _ := filepath.Rel(outside, path)
				found = append(found, rel)
			}
			return err
		})
		must(t, werr)
		for _, rel := range found {
			dir, name := filepath.Split(rel)
			switch {
			case rel == "secret", publish.IsTemp(name), strings.HasPrefix(name, "published-"):
			case strings.HasPrefix(dir, "root/") && strings.HasPrefix(filepath.Base(dir), "date=") &&
				strings.HasSuffix(name, extension):
			default:
				t.Errorf("made %s (%v)", rel, err)
			}
		}
		if !slices.Contains(found, "secret") {
			t.Error("a file outside is gone")
		}
	})
}

// If the result of the commit is unknown, Close keeps the files for a later decision.
func TestUnknownOutcome(t *testing.T) {
	for _, committed := range []bool{true, false} {
		root := t.TempDir()
		f, _ := files(t, root, nil)
		put(t, f, "survey", 0, 0, 9)
		m := finish(t, f)
		must(t, f.Close())
		if !committed {
			m = nil
		}
		must(t, f.Recover("survey", 0, m))
		final, temp := tree(t, root)
		if (len(final) == 1) != committed || len(temp) != 0 {
			t.Errorf("committed: %v, and there are %q and %q", committed, final, temp)
		}
	}
}

// Until the transaction is committed only the owner can read its records, and also those that the
// gate refused and a crash left behind.
func TestWithoutANameFilesAreConfidential(t *testing.T) {
	root := t.TempDir()
	f, _ := files(t, root, nil)
	put(t, f, "survey", 0, 0, 9)
	m := finish(t, f)
	info, err := os.Stat(f.pendingPath("survey", m[0].Temp))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestTopicsOfManifests: no other names are topics than those that Kafka takes.
func TestTopicsOfManifests(t *testing.T) {
	for name, want := range map[string]bool{"a.B_c-9": true, "": false, ".": false, "..": false, "...": true, "a/b": false,
		"a\n": false, strings.Repeat("x", 249): true, strings.Repeat("x", 250): false} {
		if validTopic(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
