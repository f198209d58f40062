package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
)

// The same releases are the same lines in every kind of place, and are read again: a file can be copied to an object,
// and back.
func TestLinesAreTheSameEverywhere(t *testing.T) {
	var want []byte
	everywhere(t, func(t *testing.T, h *home) {
		if _, err := Look(t.Context(), h.at); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("without a ledger: %v", err)
		}
		l := opened(t, h.at)
		if text := h.text(); text == nil || len(text) > 0 {
			t.Errorf("a new ledger has %q", text)
		}
		now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		for i, name := range []string{"a", "b", "c"} {
			l.now = func() time.Time { return now.Add(time.Duration(i) * time.Hour) }
			n, err := l.Enter(release(name))
			if err == nil && i < 2 {
				err = l.Settle(n, i == 0)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		number, head := l.Next()
		l.Close()
		if _, err := l.Enter(release("d")); err == nil {
			t.Error("a ledger that was let go takes an entry")
		}
		if want == nil {
			want = h.text()
		}
		if !bytes.Equal(h.text(), want) || len(want) == 0 {
			t.Errorf("the lines are\n%s\nwant\n%s", h.text(), want)
		}
		for what, open := range map[string]func() (*Ledger, error){
			"look": func() (*Ledger, error) { return Look(t.Context(), h.at) },
			"open": func() (*Ledger, error) { return Open(t.Context(), h.at, nil) },
		} {
			l, err := open()
			if err != nil {
				t.Fatal(err)
			}
			next, last := l.Next()
			if next != number || last != head || names(l.Releases()) != "a c" || names(l.Unknown()) != "c" || l.Torn {
				t.Errorf("%s: %d after %s, published %q, unknown %q", what, next, last, names(l.Releases()), names(l.Unknown()))
			}
			if what == "look" {
				if _, err := l.Enter(release("d")); err == nil {
					t.Error("a ledger that is not held takes an entry")
				}
			}
			l.Close()
		}
		if !bytes.Equal(h.text(), want) {
			t.Error("looking has changed it")
		}
	})
}

// A line that is changed, missing in between, doubled, moved or cut off is noticed wherever the ledger lies; that one
// is missing at the end is not.
func TestChangesAreNoticedEverywhere(t *testing.T) {
	everywhere(t, func(t *testing.T, h *home) {
		written(t, h.at)
		lines := bytes.SplitAfter(h.text(), []byte("\n"))[:5]
		changed := bytes.Replace(lines[2], []byte(`"wage"`), []byte(`"wagf"`), 1)
		for name, c := range map[string]struct {
			lines [][]byte
			line  int64 // that is named; 0: none
		}{
			"whole": {lines, 0}, "none": {nil, 0}, "the end is missing": {lines[:3], 0}, "the first is missing": {lines[1:], 1},
			"one is missing": {slices.Delete(slices.Clone(lines), 2, 3), 3}, "changed": {[][]byte{lines[0], lines[1], changed}, 3},
			"doubled": {[][]byte{lines[0], lines[0]}, 2}, "moved": {[][]byte{lines[0], lines[2], lines[1]}, 2},
		} {
			h.replace(bytes.Join(c.lines, nil))
			for what, open := range map[string]func(context.Context) (*Ledger, error){
				"look": func(ctx context.Context) (*Ledger, error) { return Look(ctx, h.at) },
				"open": func(ctx context.Context) (*Ledger, error) { return Open(ctx, h.at, nil) },
			} {
				l, err := open(t.Context())
				var broken *BrokenError
				if c.line > 0 && (!errors.As(err, &broken) || broken.Line != c.line) || c.line == 0 && err != nil {
					t.Errorf("%s, %s: error %v, want line %d", name, what, err, c.line)
				}
				l.Close()
			}
			if !bytes.Equal(h.text(), bytes.Join(c.lines, nil)) {
				t.Errorf("%s: it was changed", name)
			}
		}
	})
}

// Of runs that have read the same lines one enters its release, at the same moment or one after the other, and what it
// entered stays. A run also enters nothing where lines were taken away or changed since it has read them.
func TestOneOfSeveralEnters(t *testing.T) {
	everywhere(t, func(t *testing.T, h *home) {
		written(t, h.at)
		whole := h.text()
		if h.waits && strings.HasPrefix(h.at, "/") {
			return // the lock of a file is never lost: TestOneAtATime
		}
		const runs = 6
		for _, together := range []bool{true, false} {
			h.replace(whole)
			var all [runs]*Ledger
			for i := range all { // as runs whose lock was lost
				l, err := Look(t.Context(), h.at)
				if err != nil {
					t.Fatal(err)
				}
				l.held, all[i] = true, l
			}
			var errs [runs]error
			var wait sync.WaitGroup
			for i, l := range all {
				wait.Go(func() { _, errs[i] = l.Enter(release(fmt.Sprint("run", i))) })
				if !together {
					wait.Wait()
				}
			}
			wait.Wait()
			entered := -1
			for i, err := range errs {
				switch {
				case err == nil && entered >= 0:
					t.Fatalf("together %v: runs %d and %d have entered", together, entered, i)
				case err == nil:
					entered = i
				case !errors.Is(err, place.ErrMoved):
					t.Errorf("together %v, run %d: error %v", together, i, err)
				}
			}
			if entered < 0 {
				t.Fatalf("together %v: none has entered: %v", together, errs)
			}
			look, err := Look(t.Context(), h.at)
			if want := fmt.Sprint("a c run", entered); err != nil || names(look.Releases()) != want {
				t.Errorf("together %v: error %v, want %s", together, err, want)
			}
			for i, l := range all {
				if i != entered {
					if _, err := l.Enter(release("again")); err == nil || !strings.Contains(err.Error(), "an earlier line") {
						t.Error("a run that has failed enters another time")
					}
				}
			}
			if err := all[entered].Settle(6, true); err != nil {
				t.Errorf("the outcome: %v", err)
			}
		}
		lines := bytes.SplitAfter(whole, []byte("\n"))[:5]
		for name, now := range map[string][]byte{
			"the last is gone": bytes.Join(lines[:4], nil), "all are gone": nil,
			"the last is another": append(bytes.Join(lines[:4], nil), bytes.Replace(lines[4], []byte(`"c"`), []byte(`"d"`), 1)...),
		} {
			h.replace(whole)
			l := opened(t, h.at)
			h.replace(now)
			if _, err := l.Enter(release("d")); !errors.Is(err, place.ErrMoved) || !bytes.Equal(h.text(), now) {
				t.Errorf("%s: error %v", name, err)
			}
			l.Close()
		}
	})
}

// A probe leaves nothing, neither a ledger nor a line, and a ledger that is held by another run is none of its business.
func TestProbesLeaveNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, h *home) {
		if err := Probe(t.Context(), h.at); err != nil || h.text() != nil {
			t.Errorf("without a ledger: %v, left is %q", err, h.text())
		}
		written(t, h.at)
		before := h.text()
		l := opened(t, h.at)
		if err := Probe(t.Context(), h.at); err != nil || !bytes.Equal(h.text(), before) {
			t.Errorf("with a ledger: %v", err)
		}
		if _, err := l.Enter(release("d")); err != nil {
			t.Errorf("after a probe: %v", err)
		}
	})
}

// Whichever request fails, is done unheard, or is refused: a release whose Enter has succeeded is in the ledger, and
// one whose Enter has failed is not, or counts as published. The chain is whole, and the next run goes on.
func TestRequestsFail(t *testing.T) {
	everywhere(t, func(t *testing.T, h *home) {
		if h.fail == nil {
			return // TestCallsFail
		}
		for how := range h.ways {
			for _, begun := range []bool{true, false} {
				for n := 1; ; n++ {
					if begun {
						h.replace(nil)
						written(t, h.at)
					}
					before := "a c"
					if !begun {
						h = again(t, h)
						before = ""
					}
					used := h.fail(n, how)
					entered, settled := false, false
					l, err := Open(t.Context(), h.at, nil)
					if err == nil {
						var number int64
						if number, err = l.Enter(release("d")); err == nil {
							entered = true
							settled = l.Settle(number, false) == nil
						}
						l.Close()
					}
					failed := used()
					if err != nil {
						secretless(t, err)
					}
					next, err2 := Open(t.Context(), h.at, nil)
					if err2 != nil {
						t.Fatalf("way %d, request %d: the next run: %v", how, n, err2)
					}
					got, with := names(next.Releases()), strings.TrimSpace(before+" d")
					switch {
					case settled && got != before, entered && !settled && got != with, !entered && got != before && got != with:
						t.Errorf("way %d, request %d: entered %v, settled %v, and the ledger has %q", how, n, entered, settled, got)
					case !failed && !settled:
						t.Errorf("without a failure, Enter or Settle fails: %v", err)
					case !entered && got == with: // the server could be asked
						t.Errorf("way %d, request %d: it is entered, and Enter says %v", how, n, err)
					}
					if _, err := next.Enter(release("e")); err != nil {
						t.Errorf("way %d, request %d: the next run enters nothing: %v", how, n, err)
					}
					next.Close()
					if !failed {
						if n < 6 {
							t.Errorf("only %d requests can fail", n-1)
						}
						break
					}
				}
			}
		}
	})
}

// again is a fresh place of the same kind.
func again(t *testing.T, h *home) *home {
	switch scheme, _, found := strings.Cut(h.at, "://"); {
	case !found:
		return inFile(t)
	case scheme == "postgres":
		return inTable(t)
	default:
		return inObject(t, scheme)
	}
}

// secretless demands that an error holds no credential, user or address beyond the ledger's.
func secretless(t *testing.T, err error) {
	t.Helper()
	if strings.Count(err.Error(), "?table=") > 1 || strings.Contains(err.Error(), "ERROR") {
		t.Errorf("the error is %v", err)
	}
	for _, secret := range []string{objecttest.AccessKey, objecttest.SecretKey, os.Getenv("PGPASSWORD"), "admin", "wage"} {
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds %q: %v", secret, err)
		}
	}
}

// A server that writes objects whatever the condition is refused, whichever of the two it does not keep to, and the
// ledger that it has stays as it is.
func TestUnconditionalServers(t *testing.T) {
	for _, header := range []string{"If-Match", "If-None-Match"} {
		for _, begun := range []bool{true, false} {
			server := objecttest.Serve(t, "s3", "data")
			at := "s3://data/ledger"
			if begun {
				written(t, at)
			}
			var before []byte
			if o := server.Get("data", "ledger"); o != nil {
				before = slices.Clone(o.Data)
			}
			server.Failing(func(r *http.Request) *objecttest.Fault {
				if r.Method == http.MethodPut {
					r.Header.Del(header)
				}
				return nil
			})
			noticed := header == "If-Match" || !begun // of a ledger that is there nothing depends on If-None-Match
			l, err := Open(t.Context(), at, nil)
			if (err != nil) != noticed || noticed && !strings.Contains(err.Error(), "whatever the condition") {
				t.Errorf("%s, begun %v: error %v", header, begun, err)
			}
			l.Close()
			o := server.Get("data", "ledger")
			if begun && (o == nil || !bytes.Equal(o.Data, before)) || !begun && o != nil && len(o.Data) > 0 {
				t.Errorf("%s, begun %v: the ledger was changed", header, begun)
			}
			if !begun {
				server.Remove("data", "ledger")
			}
			err = Probe(t.Context(), at)
			if (err != nil) != (header == "If-Match") {
				t.Errorf("%s, begun %v: the probe says %v", header, begun, err)
			}
			if o := server.Get("data", "ledger"); !begun && o != nil {
				t.Errorf("%s: the probe leaves a ledger", header)
			}
		}
	}
}

// Without an ETag no condition could be told; without the right to write, or a bucket, a run says so as it begins.
func TestRefusedObjects(t *testing.T) {
	server := objecttest.Serve(t, "s3", "data")
	const at = "s3://data/ledger"
	written(t, at)
	for name, c := range map[string]struct {
		at, words string
		fault     func(*http.Request) *objecttest.Fault
	}{
		"no right to write": {at, "right to read and write", func(r *http.Request) *objecttest.Fault {
			if r.Method == http.MethodPut {
				return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
			}
			return nil
		}},
		"no right to read": {at, "right to read and write", func(r *http.Request) *objecttest.Fault {
			if r.Method != http.MethodPut {
				return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
			}
			return nil
		}},
		"no conditions": {at, "NotImplemented", func(r *http.Request) *objecttest.Fault {
			if r.Header.Get("If-Match") != "" && r.Method == http.MethodPut {
				return &objecttest.Fault{Status: http.StatusNotImplemented, Code: "NotImplemented"}
			}
			return nil
		}},
		"no bucket": {"s3://none/ledger", "no such bucket", nil},
	} {
		server.Failing(c.fault)
		for what, do := range map[string]func() error{
			"open": func() error {
				l, err := Open(t.Context(), c.at, nil)
				l.Close()
				return err
			},
			"probe": func() error { return Probe(t.Context(), c.at) },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s, %s: error %v", name, what, err)
			} else {
				secretless(t, err)
			}
		}
	}
	server.Failing(nil)
	server.Set("data", "cut", bytes.TrimSuffix(server.Get("data", "ledger").Data, []byte("\n")))
	var broken *BrokenError
	if _, err := Open(t.Context(), "s3://data/cut", nil); !errors.As(err, &broken) || broken.Line != 5 {
		t.Errorf("an object that is cut off: %v", err)
	}
}

// Of two runs with a table the second waits as with a file; and one whose context ends does not.
func TestTablesAreHeld(t *testing.T) {
	if os.Getenv("SDLFILTER_TEST_POSTGRES") == "" {
		t.Skip("needs a server: make test-postgres")
	}
	oneAtATime(t, inTable(t).at)
}

// An answer that was lost, of a server that cannot be asked before another run has added a line: the release is entered.
// A ledger that is changed while it is read is read again.
func TestLinesOfOthersMeanwhile(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	server := objecttest.Serve(t, "s3", "data")
	const at = "s3://data/ledger"
	written(t, at)
	l := opened(t, at)
	put := false
	server.Failing(func(r *http.Request) *objecttest.Fault {
		switch {
		case r.Method == http.MethodPut:
			put = true
			return &objecttest.Fault{Lose: true}
		case put:
			put = false
			c, err := parse(at, server.Get("data", "ledger").Data)
			if err != nil {
				t.Error(err)
				return nil
			}
			line, err := sealed(Entry{Schema: Schema, Number: 7, Previous: c.head, Release: release("other")})
			if err != nil {
				t.Error(err)
			}
			server.Set("data", "ledger", slices.Concat(server.Get("data", "ledger").Data, line, []byte("\n")))
		}
		return nil
	})
	if n, err := l.Enter(release("d")); err != nil || n != 6 {
		t.Errorf("number %d, error %v", n, err)
	}
	l.Close()
	changes := 0
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodGet && changes < 3 {
			text := server.Get("data", "ledger").Data
			changes++
			server.Set("data", "ledger", text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1])
		}
		return nil
	})
	if look, err := Look(t.Context(), at); err != nil || changes != 3 || names(look.Releases()) != "a" {
		t.Errorf("changed %d times while it is read: %v, %v", changes, err, look)
	}
}

// untold is a bucket that tells no state of its objects.
type untold struct{ objects.Bucket }

func (untold) Head(context.Context, string) (objects.Info, error) { return objects.Info{Size: 3}, nil }

func TestObjectsWithoutState(t *testing.T) {
	objects.Register("untold", func(context.Context, string) (objects.Bucket, error) { return untold{}, nil })
	if _, err := Open(t.Context(), "untold://data/ledger", nil); err == nil || !strings.Contains(err.Error(), "no ETag") {
		t.Errorf("error %v", err)
	}
}
