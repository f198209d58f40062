package publish_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

const (
	success = "out/release/" + publish.Success
	taken   = "part-00000-00112233aa.csv" // the name under which another process has written a part
)

// holdPart writes a part below the folder and leaves it to another process.
func holdPart(t *testing.T, name, word string) json.RawMessage {
	t.Helper()
	f, err := publish.Create(folder+"/"+name, publish.Public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(word)); err != nil {
		t.Fatal(err)
	}
	held, err := f.Hold()
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// takePart begins a release with a part that another process has written.
func takePart(t *testing.T, held json.RawMessage) *publish.Dir {
	t.Helper()
	d, err := publish.CreateDir(folder, ".csv")
	if err == nil {
		err = d.Take(t.Context(), taken, held)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTakenPartSurvivesAbort: aborting a release does not remove a part that another process has
// written, whether it already has its name or not, so the next process can publish it.
func TestTakenPartSurvivesAbort(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for _, named := range []bool{false, true} {
		server := serve(t)
		held := holdPart(t, taken, "new")
		d := takePart(t, held)
		own, err := d.Create("part-00001.csv")
		if err == nil {
			_, err = own.Write([]byte("new"))
		}
		if err == nil {
			err = own.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		if named {
			server.Failing(func(r *http.Request) *objecttest.Fault {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, publish.Success) {
					return &objecttest.Fault{Cut: -1}
				}
				return nil
			})
			if err := d.Commit(); err == nil {
				t.Error("a manifest that was not written is no error")
			}
			server.Failing(nil)
		}
		if err := d.Abort(); err != nil {
			t.Error(err)
		}
		want, uploads := 0, 1
		if named {
			want, uploads = 1, 0
		}
		if keys := server.Keys("bucket"); len(keys) != want || named && keys[0] != "out/release/"+taken ||
			server.Uploads() != uploads {
			t.Errorf("named %v: left are %q and %d uploads", named, keys, server.Uploads())
		}
		if err := takePart(t, held).Commit(); err != nil {
			t.Error(err)
		}
		if word, n := state(t); word != "new" || n != 1 {
			t.Errorf("named %v: %d parts of %q", named, n, word)
		}
	}
}

// TestTakenPartOfALostRelease: if another release has been published meanwhile, this one is refused. A part
// that has its name stays: another commit of the same plan may be about to publish it.
func TestTakenPartOfALostRelease(t *testing.T) {
	server := serve(t)
	d := takePart(t, holdPart(t, taken, "two"))
	publishWhole(t, "one", 1)
	if err := d.Commit(); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("got %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if word, n := state(t); word != "one" || n != 1 {
		t.Errorf("%d parts of %q", n, word)
	}
	if keys := server.Keys("bucket"); len(keys) != 3 || server.Uploads() != 0 {
		t.Errorf("left are %q and %d uploads", keys, server.Uploads())
	}
	publishWhole(t, "next", 1)
	if keys := server.Keys("bucket"); len(keys) != 2 {
		t.Errorf("the next release leaves %q", keys)
	}
}

// TestPartPassedOver: a commit is killed when its parts have their names. If a release comes then, its run
// has listed them and removes them whenever it goes on; so the commit's second run does not publish them.
// A release from before, and this plan's own, are no obstacle.
func TestPartPassedOver(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	manifests := func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, publish.Success) {
			return &objecttest.Fault{Status: http.StatusForbidden}
		}
		return nil
	}
	removals := func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodDelete || r.Method == http.MethodPost && r.URL.Query().Has("delete") {
			return &objecttest.Fault{Status: http.StatusForbidden}
		}
		return nil
	}
	for _, when := range []string{"before", "after", "own"} {
		server := serve(t)
		if when == "before" {
			publishWhole(t, "one", 1)
			server.Age(time.Hour)
		}
		held := holdPart(t, taken, "new")
		killed := takePart(t, held)
		if when != "own" {
			server.Failing(manifests)
		}
		if err := killed.Commit(); (err == nil) != (when == "own") {
			t.Fatal(err)
		}
		server.Failing(nil)
		if when == "after" {
			server.Failing(removals) // it is slow
			publishWhole(t, "one", 1)
			server.Failing(nil)
		}
		again := takePart(t, held)
		err := again.Commit()
		if (err == nil) != (when != "after") {
			t.Errorf("a release %s: got %v", when, err)
		}
		if err := again.Abort(); err != nil {
			t.Error(err)
		}
		want := map[string]string{"before": "new", "after": "one", "own": "new"}[when]
		if word, n := state(t); word != want || n != 1 {
			t.Errorf("a release %s: %d parts of %q, want %q", when, n, word, want)
		}
	}
}

// TestTakenPartCommittedTwice: two processes publish the same parts, and both succeed; a process
// with other parts is refused.
func TestTakenPartCommittedTwice(t *testing.T) {
	serve(t)
	held := holdPart(t, taken, "new")
	one, two, other := takePart(t, held), takePart(t, held), takePart(t, held)
	p, err := other.Create("part-00001.csv")
	if err == nil {
		_, err = p.Write([]byte("oth"))
	}
	if err == nil {
		err = p.Sync()
	}
	if err := errors.Join(err, one.Commit(), two.Commit()); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("other parts: %v", err)
	}
	if word, n := state(t); word != "new" || n != 1 {
		t.Errorf("%d parts of %q", n, word)
	}
}

// TestPartsThatCannotBeTaken: a missing upload is distinguished from one with a wrong description,
// and a folder of files accepts none.
func TestPartsThatCannotBeTaken(t *testing.T) {
	server := serve(t)
	held := holdPart(t, taken, "new")
	d, err := publish.CreateDir(folder, ".csv")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"part-00001-00112233aa.csv": string(held),
		"../x.csv":                  strings.Replace(string(held), taken, "../x.csv", 1),
		taken:                       string(held[:len(held)-1]),
	} {
		if err := d.Take(t.Context(), name, json.RawMessage(text)); err == nil ||
			!strings.Contains(err.Error(), "is damaged, or of another folder") {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.GiveUp()
	if err := d.Take(t.Context(), taken, held); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), folder) {
		t.Errorf("a missing upload: %v", err)
	}
	if err := d.Commit(); err != nil {
		t.Error(err)
	}
	var m publish.Manifest
	if err := json.Unmarshal(server.Get("bucket", success).Data, &m); err != nil || len(m.Parts) != 0 {
		t.Errorf("parts that could not be taken are published: %v, %v", m, err)
	}

	local, err := publish.CreateDir(t.TempDir()+"/release", ".csv")
	if err != nil {
		t.Fatal(err)
	}
	if err := local.Take(t.Context(), taken, held); err == nil ||
		!strings.Contains(err.Error(), "a folder of this machine") {
		t.Errorf("a folder of files: %v", err)
	}
	if err := local.Abort(); err != nil {
		t.Error(err)
	}
}

// TestFoldersOfObjectsThatCannotBe: a path that names no folder, bucket or service is an error, and
// so is a folder without a manifest if its content is requested.
func TestFoldersOfObjectsThatCannotBe(t *testing.T) {
	server := serve(t)
	for _, path := range []string{"s3:///release", "s3://bucket/a/../b", "s3://bucket//b"} {
		if d, err := publish.CreateDir(path, ".csv"); err == nil || d != nil {
			t.Errorf("%s: %v", path, err)
		}
		if is, err := publish.ContentInfo(t.Context(), path); err == nil || is {
			t.Errorf("%s: a folder: %v, %v", path, is, err)
		}
		if c, err := publish.ContentOf(t.Context(), path); err == nil || c != nil {
			t.Errorf("content of %s: %v", path, err)
		}
	}
	server.Set("bucket", "out/release/part-00000.csv", []byte("old"))
	if is, err := publish.ContentInfo(t.Context(), folder); err != nil || !is {
		t.Errorf("a folder: %v, %v", is, err)
	}
	if c, err := publish.ContentOf(t.Context(), folder); err == nil || c != nil ||
		!strings.Contains(err.Error(), "is no release of this program") {
		t.Errorf("without a manifest: %v, %v", c, err)
	}
}

// TestDiscardHeld: held uploads are removed, missing ones are no error, and one with a damaged
// description does not prevent the others. Named objects stay.
func TestDiscardHeld(t *testing.T) {
	server := serve(t)
	if err := publish.DiscardHeld(t.Context(), folder); err != nil {
		t.Error(err)
	}
	first := holdPart(t, "part-00000-0011223300.csv", "new")
	second := holdPart(t, "part-00001-0011223300.csv", "new")
	err := publish.DiscardHeld(t.Context(), folder, first, json.RawMessage(`{`), second)
	if err == nil || !strings.Contains(err.Error(), folder+": what is known of the upload is damaged") ||
		server.Uploads() != 0 {
		t.Errorf("%d uploads are left: %v", server.Uploads(), err)
	}
	if err := publish.DiscardHeld(t.Context(), folder, first, second); err != nil {
		t.Errorf("a missing upload: %v", err)
	}
	held := holdPart(t, taken, "new")
	if err := takePart(t, held).Commit(); err != nil {
		t.Fatal(err)
	}
	if err := publish.DiscardHeld(t.Context(), folder, held); err != nil {
		t.Error(err)
	}
	if word, n := state(t); word != "new" || n != 1 {
		t.Errorf("%d parts of %q", n, word)
	}
	for _, path := range []string{"s3:///release", "s3://bucket//b"} {
		if err := publish.DiscardHeld(t.Context(), path, held); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

// TestPartNames: the name that an attempt gives to a part is recognised, and belongs to no other
// part.
func TestPartNames(t *testing.T) {
	attempt := publish.NewAttempt()
	if len(attempt) != 10 || attempt == publish.NewAttempt() {
		t.Errorf("attempt %q", attempt)
	}
	name := publish.PartName("part-00003.csv.gz", "00112233aa")
	if name != "part-00003-00112233aa.csv.gz" {
		t.Errorf("got %q", name)
	}
	if !publish.IsPartName(name, "part-00003.csv.gz") ||
		!publish.IsPartName(publish.PartName("part-00003.csv", attempt), "part-00003.csv") {
		t.Errorf("%s, or one of %s, is not known again", name, attempt)
	}
	for _, other := range []string{
		"part-00003.csv.gz", "part-00004-00112233aa.csv.gz", "part-00003-00112233aa.csv", "part-00003-00112233a.csv.gz",
		"part-00003-00112233.csv.gz",
		"part-00003-00112233aabb.csv.gz", "part-00003-00112233ag.csv.gz", "part-0000300112233aa.csv.gz", "x" + name,
		name + "x", "",
	} {
		if publish.IsPartName(other, "part-00003.csv.gz") {
			t.Errorf("%q is taken for a name of the part", other)
		}
	}
}

// If the settings of a bucket cannot be read, naming a folder or an object in it is an error, and
// it is not treated as an existing folder.
func TestBucketsThatCannotBeOpened(t *testing.T) {
	serve(t)
	held := holdPart(t, taken, "new")
	t.Setenv("AWS_PROFILE", "gone")
	objects.Forget()
	t.Cleanup(objects.Forget)
	if is, err := publish.ContentInfo(t.Context(), folder); err == nil || is ||
		!strings.Contains(err.Error(), "s3://bucket: the settings of the AWS environment") {
		t.Errorf("a folder: %v, %v", is, err)
	}
	for _, path := range []string{folder, "s3://bucket/x.csv"} {
		if c, err := publish.ContentOf(t.Context(), path); err == nil || c != nil {
			t.Errorf("content of %s: %v", path, err)
		}
		if f, err := publish.Create(path, publish.Public); err == nil || f != nil {
			t.Errorf("%s is created: %v", path, err)
		}
	}
	if d, err := publish.CreateDir(folder, ".csv"); err == nil || d != nil {
		t.Errorf("a folder is created: %v", err)
	}
	if err := publish.DiscardHeld(t.Context(), folder, held); err == nil {
		t.Error("held parts are discarded")
	}
}
