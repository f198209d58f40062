package publish_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const folder = "s3://bucket/out/release"

func serve(t *testing.T) *objecttest.Server {
	t.Helper()
	server := objecttest.New(t, "bucket")
	objecttest.Use(t, server.URL, objecttest.AccessKey, objecttest.SecretKey)
	return server
}

// release begins a release of some parts, each with a word. The first has seventeen megabytes of
// it, so it is uploaded in parts.
func release(word string, parts int) (*publish.Dir, error) {
	d, err := publish.CreateDir(folder, ".csv")
	if err != nil {
		return nil, err
	}
	for i := range parts {
		text := []byte(word)
		if i == 0 {
			text = bytes.Repeat(text, 17<<20/len(word))
		}
		p, err := d.Create(fmt.Sprintf("g=1/part-%05d.csv", i))
		if err == nil {
			_, err = p.Write(text)
		}
		if err == nil {
			err = errors.Join(p.Sync(), p.Close())
		}
		if err != nil {
			return nil, errors.Join(err, d.Abort())
		}
	}
	return d, nil
}

func publishWhole(t *testing.T, word string, parts int) {
	t.Helper()
	d, err := release(word, parts)
	if err == nil {
		err = d.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// state reads the folder like the program: the word of its parts and their number. A mixture is an
// error.
func state(t *testing.T) (word string, parts int) {
	t.Helper()
	set, err := files.Find(t.Context(), folder, ".csv")
	if err != nil {
		if strings.Contains(err.Error(), "no such object or folder") {
			return "", 0
		}
		t.Fatal(err)
	}
	for _, f := range set.Files {
		h, _, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		begin := make([]byte, 3)
		if _, err := h.ReadAt(begin, 0); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if word != "" && word != string(begin) {
			t.Fatalf("parts of two releases: %s and %s", word, begin)
		}
		word = string(begin)
	}
	return word, len(set.Files)
}

// TestDirOfObjects replaces a release of three parts by one of two, and compares the objects with
// the described content.
func TestDirOfObjects(t *testing.T) {
	server := serve(t)
	publishWhole(t, "old", 3)
	if word, n := state(t); word != "old" || n != 3 {
		t.Fatalf("%d parts of %q", n, word)
	}
	d, err := release("new", 2)
	if err != nil {
		t.Fatal(err)
	}
	if word, n := state(t); word != "old" || n != 3 {
		t.Fatalf("before the commit %d parts of %q", n, word)
	}
	content, err := d.Content(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Commit(), d.Abort()); err != nil {
		t.Fatal(err)
	}
	if word, n := state(t); word != "new" || n != 2 {
		t.Fatalf("%d parts of %q", n, word)
	}
	there, err := publish.ContentOf(t.Context(), folder+"/")
	if err != nil || there.SHA256() != content.SHA256() || there.Path != folder || content.Path != folder ||
		!there.Folder {
		t.Errorf("the described content is %+v, the stored %+v, %v", content, there, err)
	}
	if keys := server.Keys("bucket"); len(keys) != 3 || server.Uploads() > 0 {
		t.Errorf("there are %q and %d uploads", keys, server.Uploads())
	}
}

// TestDirOfObjectsKilled stops a run at each of its changing requests, before and after the server
// has carried it out, like a kill at that moment. A reader of the folder then sees the complete old
// release or the complete new one, and the next run repairs everything.
func TestDirOfObjectsKilled(t *testing.T) {
	racetest.Alone(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // a killed process does not retry
	for _, earlier := range []bool{false, true} {
		for _, lose := range []bool{false, true} {
			if testing.Short() && lose != earlier {
				continue
			}
			for step := int64(1); ; step++ {
				if testing.Short() && (step%2 == 0) == earlier {
					continue // with an earlier release the even steps, without one the odd
				}
				server := serve(t)
				if earlier {
					publishWhole(t, "old", 3)
				}
				var done atomic.Int64
				server.Failing(func(r *http.Request) *objecttest.Fault {
					if done.Load() >= step {
						return &objecttest.Fault{Cut: -1} // killed
					}
					if r.Method == http.MethodGet || r.Method == http.MethodHead {
						return nil
					}
					switch n := done.Add(1); {
					case n == step && !lose:
						return &objecttest.Fault{Cut: -1}
					case n == step:
						return &objecttest.Fault{Lose: true}
					}
					return nil
				})
				d, err := release("new", 2)
				if err == nil {
					err = d.Commit()
				}
				if done.Load() < step {
					if err != nil {
						t.Fatalf("nothing was killed: %v", err)
					}
					break // there are no more steps
				}
				server.Failing(nil)
				word, n := state(t)
				whole := word == "old" && n == 3 && earlier || word == "new" && n == 2 || word == "" && !earlier
				// Without a manifest, a reader can only use the parts that already have their
				// names: for a first release, and only for a first one.
				if server.Get("bucket", "out/release/_SUCCESS") == nil && !earlier {
					whole = word != "old"
				}
				if !whole {
					t.Errorf("earlier %v, lost %v, step %d: %d parts of %q", earlier, lose, step, n, word)
				}
				if err == nil && word != "new" {
					t.Errorf("earlier %v, lost %v, step %d: success is reported, but %q exists", earlier, lose, step, word)
				}
				publishWhole(t, "end", 1)
				if word, n := state(t); word != "end" || n != 1 {
					t.Errorf("earlier %v, lost %v, step %d: the next run leaves %d parts of %q", earlier, lose, step, n, word)
				}
				if keys := server.Keys("bucket"); len(keys) != 2 {
					t.Errorf("earlier %v, lost %v, step %d: the next run leaves %q", earlier, lose, step, keys)
				}
			}
		}
	}
}

// TestDirOfObjectsTwoAtOnce: two runs publish one folder. The second is refused and removes its own
// objects.
func TestDirOfObjectsTwoAtOnce(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		server := serve(t)
		if earlier {
			publishWhole(t, "old", 3)
		}
		one, err1 := release("one", 2)
		two, err2 := release("two", 2)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if err := one.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := two.Commit(); !errors.Is(err, objects.ErrCondition) {
			t.Errorf("the second returns %v", err)
		}
		if err := two.Abort(); err != nil {
			t.Error(err)
		}
		if word, n := state(t); word != "one" || n != 2 {
			t.Errorf("%d parts of %q", n, word)
		}
		if keys := server.Keys("bucket"); len(keys) != 3 || server.Uploads() > 0 {
			t.Errorf("left are %q and %d uploads", keys, server.Uploads())
		}
	}
}

// TestDirOfObjectsSparesOthers: a folder with other objects is refused, and objects that only share
// a part of the prefix do not belong to it.
func TestDirOfObjectsSparesOthers(t *testing.T) {
	server := serve(t)
	server.Set("bucket", "out/release-of-others/x.txt", []byte("x"))
	publishWhole(t, "old", 1)
	server.Set("bucket", "out/release/notes.txt", []byte("x"))
	if _, err := release("new", 1); err == nil || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("got %v", err)
	}
	server.Remove("bucket", "out/release/notes.txt")
	d, err := release("new", 1)
	if err != nil {
		t.Fatal(err)
	}
	server.Set("bucket", "out/release/notes.txt", []byte("x"))
	if err := d.Commit(); err == nil || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("the other release: %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	server.Remove("bucket", "out/release/notes.txt")
	if word, _ := state(t); word != "old" || server.Get("bucket", "out/release-of-others/x.txt") == nil {
		t.Errorf("%q is there, and %q", word, server.Keys("bucket"))
	}
}

// TestDirOfObjectsBesideEmptyOnes: an empty object with another name also belongs to someone else.
// The object that represents the folder stays, and an empty part is removed with the others. A
// manifest of a later version is refused, and one of another program, empty or not, is replaced.
func TestDirOfObjectsBesideEmptyOnes(t *testing.T) {
	server := serve(t)
	server.Set("bucket", "out/release/", nil)
	server.Set("bucket", "out/release/notes.txt", nil)
	if _, err := publish.CreateDir(folder, ".csv"); err == nil || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("an empty object of others: %v", err)
	}
	server.Remove("bucket", "out/release/notes.txt")
	server.Set("bucket", "out/release/", []byte("x"))
	if _, err := publish.CreateDir(folder, ".csv"); err == nil || !strings.Contains(err.Error(), "not part of a release") {
		t.Errorf("content under the folder's name: %v", err)
	}
	server.Set("bucket", "out/release/", nil)
	server.Set("bucket", "out/release/part-00000.csv", nil)
	server.Set("bucket", "out/release/_SUCCESS", []byte(`{"schema": "sdlfilter.parts/99"}`))
	if _, err := publish.CreateDir(folder, ".csv"); err == nil || !strings.Contains(err.Error(), "sdlfilter.parts/99") {
		t.Errorf("a manifest of a later form: %v", err)
	}
	for _, others := range []string{"", "written by Hadoop"} {
		server.Set("bucket", "out/release/_SUCCESS", []byte(others))
		publishWhole(t, "new", 1)
		if word, n := state(t); word != "new" || n != 1 || server.Get("bucket", "out/release/part-00000.csv") != nil ||
			server.Get("bucket", "out/release/") == nil {
			t.Errorf("%d parts of %q; there are %q", n, word, server.Keys("bucket"))
		}
	}
}

// TestFilesOfObjects: a whole object is written and read at once, also an empty one. For a path
// that names no object, the error describes the required form.
func TestFilesOfObjects(t *testing.T) {
	server := serve(t)
	for _, text := range []string{"", "a report"} {
		if err := publish.WriteFile("s3://bucket/r.json", publish.Public, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := publish.ReadFile(t.Context(), "s3://bucket/r.json")
		if there := server.Get("bucket", "r.json"); err != nil || string(got) != text || there == nil ||
			string(there.Data) != text {
			t.Errorf("%q is read as %q: %v", text, got, err)
		}
	}
	const want = "must name an object"
	if _, err := publish.Create("s3://bucket", publish.Public); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("written: %v", err)
	}
	if _, err := publish.ReadFile(t.Context(), "s3://bucket/"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v", err)
	}
	if _, err := publish.ReadFile(t.Context(), "s3://bucket/none"); !errors.Is(err, objects.ErrAbsent) {
		t.Errorf("none is there: %v", err)
	}
}

// TestPartGone: a release with a missing or changed part is not read as complete, and objects not
// named by a manifest are not parts.
func TestPartGone(t *testing.T) {
	server := serve(t)
	publishWhole(t, "old", 3)
	server.Set("bucket", "out/release/g=1/part-00009.csv", []byte("bad"))
	if word, n := state(t); word != "old" || n != 3 {
		t.Errorf("%d parts of %q", n, word)
	}
	var m publish.Manifest
	if err := json.Unmarshal(server.Get("bucket", "out/release/_SUCCESS").Data, &m); err != nil || len(m.Parts) != 3 {
		t.Fatal(m, err)
	}
	for i, spoil := range []func(key string){
		func(key string) { server.Set("bucket", key, []byte("bad")) },
		func(key string) { server.Remove("bucket", key) },
	} {
		spoil("out/release/" + m.Parts[i].Name)
		if _, err := files.Find(t.Context(), folder, ".csv"); err == nil || !strings.Contains(err.Error(), "not whole") {
			t.Errorf("case %d: got %v", i, err)
		}
	}
}

// TestFileOfObject: an object that gets the name while a file is written stays.
func TestFileOfObject(t *testing.T) {
	server := serve(t)
	f, err := publish.Create("s3://bucket/r.json", publish.Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("mine")); err != nil {
		t.Fatal(err)
	}
	server.Set("bucket", "r.json", []byte("theirs"))
	if err := f.Commit(); !errors.Is(err, objects.ErrCondition) || !strings.Contains(err.Error(), "s3://bucket/r.json") {
		t.Errorf("got %v", err)
	}
	if err := f.Abort(); err != nil || string(server.Get("bucket", "r.json").Data) != "theirs" {
		t.Error("it was overwritten", err)
	}
	if text, err := publish.ReadFile(t.Context(), "s3://bucket/r.json"); err != nil || string(text) != "theirs" {
		t.Errorf("read: %q, %v", text, err)
	}
}

// TestFromFolderOf converts in both directions.
func TestFromFolderOf(t *testing.T) {
	for _, c := range []struct{ file, path, want string }{
		{"s3://bucket/out/report.json", "s3://bucket/out/release", "release"},
		{"s3://bucket/a/report.json", "s3://bucket/b/c.csv", "../b/c.csv"},
		{"s3://bucket/report.json", "s3://other/c.csv", "s3://other/c.csv"},
		{"/tmp/report.json", "s3://other/c.csv", "s3://other/c.csv"},
		{"s3://bucket/report.json", "/tmp/c.csv", "/tmp/c.csv"},
		{"/tmp/a/report.json", "/tmp/c.csv", "../c.csv"},
	} {
		serve(t)
		rel := publish.FromFolderOf(c.file, c.path)
		if rel != c.want {
			t.Errorf("from %s to %s: %s", c.file, c.path, rel)
		}
		if at := publish.At(c.file, rel); at != c.path {
			t.Errorf("back from %s: %s is %s", c.file, rel, at)
		}
	}
	// A local file with a path relative to the working directory becomes an absolute path, because
	// an object is in no local folder.
	dir := t.TempDir()
	t.Chdir(dir)
	if rel := publish.FromFolderOf("s3://bucket/report.json", "c.csv"); rel != dir+"/c.csv" {
		t.Errorf("from an object to c.csv: %s", rel)
	}
}

// A folder of objects contains the objects directly below it, without hidden ones and those of
// other folders.
func TestListObjects(t *testing.T) {
	server := serve(t)
	for _, key := range []string{"a", "in/b.csv", "in/a.csv", "in/.hidden", "in/below/c.csv", "in.csv", "inner/d.csv"} {
		server.Set("bucket", key, []byte("x"))
	}
	for folder, want := range map[string]string{
		"s3://bucket/in":   "s3://bucket/in/a.csv s3://bucket/in/b.csv",
		"s3://bucket/in/":  "s3://bucket/in/a.csv s3://bucket/in/b.csv",
		"s3://bucket/none": "",
	} {
		got, err := publish.List(t.Context(), folder)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", folder, got, err)
		}
	}
}

// TestRecoverObject: an object that was left with a receipt gets its name later, once, if its note fits; not
// if somebody has written there meanwhile, nor if the upload is gone or the receipt is damaged.
func TestRecoverObject(t *testing.T) {
	const path, temp = "s3://bucket/out/r.json", "out/.r.json.sdlfilter-tmp"
	fits := func(note []byte) error {
		if string(note) != `{"of":"this"}` {
			return errors.New("another release")
		}
		return nil
	}
	for _, c := range []struct {
		name    string
		earlier bool // something has the name when the run begins
		note    string
		then    func(*objecttest.Server) // before the object is recovered
		found   bool
		fails   string // the error, "": none
		want    string // what has the name
	}{
		{name: "fits", found: true, want: "mine"},
		{name: "replaces", earlier: true, found: true, want: "mine"},
		{name: "another", earlier: true, note: `{"of":"that"}`, found: true, fails: "another release", want: "earlier"},
		{name: "written meanwhile", then: func(s *objecttest.Server) {
			s.Set("bucket", "out/r.json", []byte("theirs"))
		}, found: true, fails: "somebody else", want: "theirs"},
		{name: "replaced meanwhile", earlier: true, then: func(s *objecttest.Server) {
			s.Set("bucket", "out/r.json", []byte("theirs"))
		}, found: true, fails: "somebody else", want: "theirs"},
		{name: "given up", earlier: true, then: (*objecttest.Server).GiveUp, want: "earlier"},
		{name: "no receipt", then: func(s *objecttest.Server) { s.Remove("bucket", temp) }},
		{name: "damaged", then: func(s *objecttest.Server) {
			s.Set("bucket", temp, s.Get("bucket", temp).Data[1:])
		}, found: true, fails: "is damaged"},
		{name: "of another object", then: func(s *objecttest.Server) {
			s.Set("bucket", temp, bytes.ReplaceAll(s.Get("bucket", temp).Data, []byte("out/r.json"), []byte("out/s.json")))
		}, found: true, fails: "is damaged"},
	} {
		server := serve(t)
		if c.earlier {
			server.Set("bucket", "out/r.json", []byte("earlier"))
		}
		f, err := publish.Create(path, publish.Confidential)
		if err == nil {
			_, err = f.Write([]byte("mine"))
		}
		if err := errors.Join(err, f.Stage()); err != nil {
			t.Fatal(err)
		}
		if c.note == "" {
			c.note = `{"of":"this"}`
		}
		f.Receipt([]byte(c.note))
		if !publish.Left(t.Context(), path) {
			t.Fatal("there is no receipt")
		}
		if err := errors.Join(f.Leave(), f.Abort()); err != nil || server.Uploads() != 1 {
			t.Fatal(server.Uploads(), err)
		}
		if c.then != nil {
			c.then(server)
		}
		found, err := publish.Recover(t.Context(), path, fits)
		has := ""
		if o := server.Get("bucket", "out/r.json"); o != nil {
			has = string(o.Data)
		}
		if found != c.found || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) ||
			has != c.want {
			t.Errorf("%s: %v, %v, there is %q", c.name, found, err, has)
		}
		done := c.found && c.fails == ""
		if done == publish.Left(t.Context(), path) && c.name != "no receipt" || done && server.Uploads() > 0 {
			t.Errorf("%s: %d uploads and %q remain", c.name, server.Uploads(), server.Keys("bucket"))
		}
	}
	server := serve(t)
	f, err := publish.Create(path, publish.Confidential)
	if err == nil {
		_, err = f.Write([]byte("mine"))
	}
	if err := errors.Join(err, f.Stage()); err != nil {
		t.Fatal(err)
	}
	f.Receipt([]byte(`{}`))
	if err := f.Abort(); err != nil || server.Uploads() > 0 || len(server.Keys("bucket")) > 0 {
		t.Errorf("given up: %v, %d uploads and %q remain", err, server.Uploads(), server.Keys("bucket"))
	}
}
