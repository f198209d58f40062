package publish_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// kills is how often TestCompletionKilled kills a commit.
var kills = flag.Int("kills", 0, "how often a commit is killed; 0: 200 times, in the short form 20")

// Commits of releases whose uploads other processes have left are killed at random requests, before or after the server
// has done what it was asked, several times for each release: a reader sees the release before or the new one, whole,
// and the commit that is not killed completes it.
func TestCompletionKilled(t *testing.T) {
	racetest.Alone(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	server := serve(t)
	n := *kills
	if n == 0 {
		if n = 200; testing.Short() {
			n = 20
		}
	}
	draw := rand.New(rand.NewPCG(39, 5))
	const parts = 3
	before, seen, killed := "", map[string]int{}, 0
	for release := 0; killed < n; release++ {
		word := fmt.Sprintf("%03d", release)
		held := map[string]json.RawMessage{}
		for i := range parts {
			name := publish.PartName(fmt.Sprintf("part-%05d.csv", i), publish.NewAttempt())
			held[name] = holdPart(t, name, word)
		}
		commit := func() error {
			d, err := publish.CreateDir(folder, ".csv")
			for name, text := range held {
				if err == nil {
					err = d.Take(t.Context(), name, text)
				}
			}
			if err == nil {
				err = d.Commit()
			}
			return err
		}
		there := ""
		for range 1 + draw.IntN(4) {
			at, after := int64(1+draw.IntN(22)), draw.IntN(2) == 1
			var asked atomic.Int64
			server.Failing(func(*http.Request) *objecttest.Fault {
				switch k := asked.Add(1); {
				case k == at && after:
					return &objecttest.Fault{Lose: true}
				case k >= at:
					return &objecttest.Fault{Status: http.StatusForbidden}
				}
				return nil
			})
			err := commit()
			server.Failing(nil)
			if asked.Load() < at {
				break // it has ended before it was killed
			}
			killed++
			got, n := state(t)
			switch {
			case got == word && n == parts:
				there = "the new one"
			case got == before && there == "" && (n == parts || before == "" && n == 0):
				seen["the one before"]++
				continue
			default:
				t.Fatalf("kill %d, at request %d: %d parts of %q, after %q (%v)", killed, at, n, got, before, err)
			}
			seen[there]++
		}
		if err := commit(); err != nil {
			t.Fatalf("the commit that is not killed: %v", errors.Join(err))
		}
		if got, n := state(t); got != word || n != parts {
			t.Fatalf("at the end %d parts of %q, want %q", n, got, word)
		}
		before = word
		server.Age(time.Hour) // the next release is not one of the same second
	}
	if keys := server.Keys("bucket"); server.Uploads() > 0 || len(keys) != parts+1 {
		t.Errorf("left are %d uploads and %q", server.Uploads(), keys)
	}
	t.Logf("%d kills; a reader sees %v", killed, seen)
	if len(seen) != 2 {
		t.Errorf("a reader sees %v", seen)
	}
}
