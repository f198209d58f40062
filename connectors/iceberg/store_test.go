package iceberg

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/gs"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// lake is a table in object storage, by a REST catalog.
type lake struct {
	objects *objecttest.Server
	catalog *restServer
	place   Place
}

func newLake(t *testing.T, scheme string) *lake {
	t.Helper()
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	l := &lake{objects: objecttest.Serve(t, scheme, "lake")}
	l.catalog, l.place = newRESTServer(t)
	l.catalog.at = scheme + "://lake/open/income"
	return l
}

// failing has both servers ask one function.
func (l *lake) failing(fault func(*http.Request) *objecttest.Fault) {
	l.objects.Failing(fault)
	l.catalog.mu.Lock()
	defer l.catalog.mu.Unlock()
	l.catalog.fault = fault
}

// masked reads the table, "" of one that is not there.
func (l *lake) read(t *testing.T) []string {
	t.Helper()
	if l.catalog.table == nil {
		return nil
	}
	got := values(t, &SourceConfig{Place: l.place}, "masked")
	slices.Sort(got)
	return got
}

// extra lists the objects that are not the table's.
func (l *lake) extra(t *testing.T) (names []string) {
	t.Helper()
	parts := map[string]bool{}
	if l.catalog.table != nil {
		var err error
		if parts, err = marks(t.Context(), l.catalog.table); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range l.objects.Keys("lake") {
		rest := strings.TrimPrefix(key, "open/income/")
		folder, name, _ := strings.Cut(rest, "/")
		mark := markOf("/" + name)
		if folder == dataFolder {
			mark = markOf("/" + strings.Split(name, "/")[0])
		}
		if mark == "" || !parts[mark] || strings.HasPrefix(name, ".") {
			names = append(names, rest)
		}
	}
	return names
}

func together(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

// Releases go into tables of each protocol in all modes; nothing but the table's own files is left, also of a release
// that is withheld, and none goes into the table that it is made of.
func TestReleasesIntoObjects(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		t.Run(scheme, func(t *testing.T) {
			l := newLake(t, scheme)
			release(t, records(t, 20), &SinkConfig{Place: l.place}, "secret")
			release(t, records(t, 5), &SinkConfig{Place: l.place, Mode: "append"}, "secret")
			if got, want := l.read(t), together(masked(upTo(20)...), masked(upTo(5)...)); !slices.Equal(got, want) {
				t.Errorf("appended: %q, want %q", got, want)
			}
			for _, key := range l.objects.Keys("lake") {
				if strings.Contains(string(l.objects.Get("lake", key).Data), "canary") {
					t.Errorf("%s holds a withheld value", key)
				}
			}
			all, err := entriesOf(t.Context(), l.catalog.table.current())
			if err != nil {
				t.Fatal(err)
			}
			for name, from := range map[string]connectors.SourceConfig{
				"the table": &SourceConfig{Place: l.place},
				"a file":    &parquet.SourceConfig{Path: all[0].File.Path},
				"a folder":  &parquet.SourceConfig{Path: folderOf(all[0].File.Path)},
			} {
				if _, _, _, err := started(t, from, &SinkConfig{Place: l.place, Mode: "append"}); err == nil ||
					!strings.Contains(err.Error(), "the table that it is made of") {
					t.Errorf("of %s into the table: %v", name, err)
				}
			}
			withheld := finished(t, records(t, 9), &SinkConfig{Place: l.place}, "secret")
			overwrite := finished(t, records(t, 7), &SinkConfig{Place: l.place}, "secret")
			late := finished(t, records(t, 8), &SinkConfig{Place: l.place}, "secret")
			if err := errors.Join(withheld.Abort(), overwrite.Commit()); err != nil {
				t.Fatal(err)
			}
			if err := late.Commit(); !errors.Is(err, errConflict) {
				t.Errorf("what others have written would be lost: %v", err)
			}
			if err := late.Abort(); err != nil {
				t.Error(err)
			}
			if got, want := l.read(t), together(masked(upTo(7)...)); !slices.Equal(got, want) {
				t.Errorf("overwritten: %q, want %q", got, want)
			}
			if extra := l.extra(t); len(extra) > 0 || l.objects.Uploads() > 0 {
				t.Errorf("left are %q and %d uploads", extra, l.objects.Uploads())
			}
		})
	}
}

// Who may not write is told so before anything is read, without a word of the server's.
func TestObjectsMayNotBeWritten(t *testing.T) {
	l := newLake(t, "s3")
	l.failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploads") || r.Method == http.MethodPut {
			return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
		}
		return nil
	})
	_, _, _, err := started(t, records(t, 1), &SinkConfig{Place: l.place})
	if err == nil || !strings.Contains(err.Error(), "cannot be written") ||
		strings.Contains(err.Error(), objecttest.SecretKey) || strings.Contains(err.Error(), objecttest.AccessKey) {
		t.Errorf("the error is %v", err)
	}
}

// TestObjectsKilled ends a run at each of its requests, to the storage and to the catalog, before the server has done
// what it was asked and after: the table has all records of the run or none. A run right after it removes nothing, as
// the other one may live; one that comes later removes what is not the table's, and nothing else.
func TestObjectsKilled(t *testing.T) {
	racetest.Alone(t)
	for _, fresh := range []bool{true, false} {
		for _, lose := range []bool{false, true} {
			if testing.Short() && fresh == lose {
				continue
			}
			ends := map[bool]int{}
			for at := int64(1); ; at++ {
				l := newLake(t, "s3")
				var before []string
				if !fresh {
					release(t, records(t, 3), &SinkConfig{Place: l.place})
					before = masked(upTo(3)...)
				}
				var asked atomic.Int64
				l.failing(func(*http.Request) *objecttest.Fault {
					switch n := asked.Add(1); {
					case n == at && lose:
						return &objecttest.Fault{Lose: true}
					case n >= at:
						return &objecttest.Fault{Cut: -1}
					}
					return nil
				})
				err := attempted(t, records(t, 9), &SinkConfig{Place: l.place, Mode: "append"})
				l.failing(nil)
				if asked.Load() < at {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				got, all := l.read(t), together(before, masked(upTo(9)...))
				there := slices.Equal(got, all)
				if !there && !slices.Equal(got, together(before)) {
					t.Fatalf("killed at request %d: %q", at, got)
				}
				if err == nil && !there {
					t.Errorf("killed at request %d: nothing is released, and no error says so", at)
				}
				for _, secret := range []string{objecttest.SecretKey, restToken, "Signature", "http://"} {
					if err != nil && strings.Contains(err.Error(), secret) {
						t.Errorf("killed at request %d: the error holds %s: %v", at, secret, err)
					}
				}
				ends[there]++
				left := l.objects.Keys("lake")
				release(t, records(t, 1), &SinkConfig{Place: l.place, Mode: "append"})
				for _, key := range left {
					if l.objects.Get("lake", key) == nil {
						t.Errorf("killed at request %d: %s is removed, although its run may live", at, key)
					}
				}
				l.objects.Age(2 * time.Hour)
				release(t, records(t, 2), &SinkConfig{Place: l.place, Mode: "append"})
				if extra := l.extra(t); len(extra) > 0 {
					t.Errorf("killed at request %d: left is %q", at, extra)
				}
				if !there {
					all = before
				}
				if got, want := l.read(t), together(all, masked(0), masked(0, 1)); !slices.Equal(got, want) {
					t.Fatalf("killed at request %d: at the end %q, want %q", at, got, want)
				}
			}
			t.Logf("new table %v, after the server has done it %v: %v", fresh, lose, ends)
			if ends[false] < 8 || ends[true] < 1 {
				t.Errorf("new table %v, lose %v: ends %v", fresh, lose, ends)
			}
		}
	}
}

// A run that was only slow, and that another one has taken for dead, releases nothing that the other one has removed:
// the other one comes in between at each of its requests.
func TestTakenForDead(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		taken, done := 0, 0
		for at := int64(1); ; at++ {
			l := newLake(t, "s3")
			var want []string
			if !fresh {
				release(t, records(t, 3), &SinkConfig{Place: l.place})
				want = masked(upTo(3)...)
			}
			slow := finished(t, records(t, 9), &SinkConfig{Place: l.place, Mode: "append"})
			var asked atomic.Int64
			var other error
			l.failing(func(*http.Request) *objecttest.Fault {
				if asked.Add(1) == at {
					l.objects.Age(2 * time.Hour)
					other = attempted(t, records(t, 2), &SinkConfig{Place: l.place, Mode: "append"})
				}
				return nil
			})
			err := slow.Commit()
			gone := slow.Abort()
			l.failing(nil)
			if asked.Load() < at {
				break
			}
			if other != nil || gone != nil {
				t.Fatalf("request %d: %v, %v", at, other, gone)
			}
			want = append(want, masked(0, 1)...)
			if err == nil {
				want = append(want, masked(upTo(9)...)...)
				done++
			} else {
				if strings.Contains(err.Error(), "taken this one for dead") {
					taken++
				}
			}
			if got := l.read(t); !slices.Equal(got, together(want)) {
				t.Fatalf("request %d: %q, want %q (%v)", at, got, together(want), err)
			}
			l.objects.Age(2 * time.Hour)
			release(t, records(t, 1), &SinkConfig{Place: l.place, Mode: "append"})
			if extra := l.extra(t); len(extra) > 0 {
				t.Errorf("request %d: left is %q", at, extra)
			}
		}
		t.Logf("new table %v: %d were taken for dead, %d have released", fresh, taken, done)
		if done == 0 || taken == 0 && !fresh {
			t.Errorf("new table %v: %d were taken for dead, %d have released", fresh, taken, done)
		}
	}
}

// The run that takes another one for dead dies itself, at each of its requests: the slow one releases nothing whose
// files are gone.
func TestTakenForDeadByOneThatDies(t *testing.T) {
	racetest.Further(t)
	given, released := 0, 0
	for at := int64(1); ; at++ {
		l := newLake(t, "s3")
		release(t, records(t, 3), &SinkConfig{Place: l.place})
		want := masked(upTo(3)...)
		slow := finished(t, records(t, 9), &SinkConfig{Place: l.place, Mode: "append"})
		var other error
		var came, asked atomic.Int64 // whether the other run has come, and its requests
		l.failing(func(r *http.Request) *objecttest.Fault {
			switch {
			case came.Load() == 1 && asked.Add(1) >= at:
				return &objecttest.Fault{Cut: -1}
			case came.Load() == 0 && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "-snap.avro"):
				l.objects.Age(2 * time.Hour)
				came.Store(1)
				other = attempted(t, records(t, 2), &SinkConfig{Place: l.place, Mode: "append"})
				came.Store(2)
			}
			return nil
		})
		err := slow.Commit()
		gone := slow.Abort()
		l.failing(nil)
		if gone != nil {
			t.Fatal(gone)
		}
		if got := l.read(t); len(got) == 5 || len(got) == 14 { // the other one's commit was answered, or not
			want = append(want, masked(0, 1)...)
		} else if other == nil {
			t.Fatalf("request %d: the other run says nothing, and has released nothing", at)
		}
		if err == nil {
			want = append(want, masked(upTo(9)...)...)
			released++
		} else if strings.Contains(err.Error(), "taken this one for dead") {
			given++
		}
		if got := l.read(t); !slices.Equal(got, together(want)) {
			t.Fatalf("request %d: %q, want %q (%v)", at, got, together(want), err)
		}
		if asked.Load() < at {
			break
		}
	}
	t.Logf("%d have given up, %d have released", given, released)
	if given < 5 || released < 5 {
		t.Errorf("%d have given up, %d have released", given, released)
	}
}

// A run that takes longer than others wait does not commit.
func TestTooSlow(t *testing.T) {
	l := newLake(t, "s3")
	slow := finished(t, records(t, 9), &SinkConfig{Place: l.place}).(*sink)
	l.failing(func(*http.Request) *objecttest.Fault {
		t.Error("the catalog is asked")
		return nil
	})
	l.objects.Failing(func(*http.Request) *objecttest.Fault {
		slow.run.store.since = time.Now().Add(-liveFor)
		return nil
	})
	if err := slow.Commit(); err == nil || !strings.Contains(err.Error(), "run again") {
		t.Errorf("the error is %v", err)
	}
	if err := slow.Abort(); err != nil || len(l.objects.Keys("lake")) > 0 {
		t.Errorf("left is %q: %v", l.objects.Keys("lake"), err)
	}
}

// A run removes nothing of another table's that lies in the same folder, as one that was renamed and a new one of its
// name do.
func TestFolderOfTwoTables(t *testing.T) {
	for _, scheme := range []string{"s3", "file"} {
		l := newLake(t, "s3")
		if scheme == "file" {
			l.catalog.at = "file://" + l.catalog.dir + "/income"
		}
		release(t, records(t, 3), &SinkConfig{Place: l.place})
		killed := finished(t, records(t, 9), &SinkConfig{Place: l.place, Mode: "append"}).(*sink)
		if err := killed.run.name(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, err := killed.snapshot(t.Context(), killed.table, 1)
		if err == nil {
			err = killed.catalog.commit(t.Context(), killed.table, next)
		}
		if err == nil && scheme == "file" {
			err = killed.run.claim.File.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		l.objects.Age(2 * time.Hour)
		second, place := newRESTServer(t)
		second.at, second.uuid = l.catalog.at, "22222222-0000-4000-8000-000000000000"
		for range 2 {
			release(t, records(t, 2), &SinkConfig{Place: place, Mode: "append"})
			l.objects.Age(2 * time.Hour)
		}
		if got, want := l.read(t), together(masked(upTo(3)...), masked(upTo(9)...)); !slices.Equal(got, want) {
			t.Errorf("%s: the first table has %q, want %q", scheme, got, want)
		}
		release(t, records(t, 1), &SinkConfig{Place: l.place, Mode: "append"})
		if got := l.read(t); len(got) != 13 {
			t.Errorf("%s: then it has %d records", scheme, len(got))
		}
		for _, name := range append(l.objects.Keys("lake"), everything(t, l.catalog.dir)...) {
			if strings.Contains(name, "/.") {
				t.Errorf("%s: %s is left", scheme, name)
			}
		}
	}
}
