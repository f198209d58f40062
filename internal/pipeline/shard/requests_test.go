package shard

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"

	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/gs"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// oneOf is how many faults of requests one is tried of.
var oneOf = flag.Int("every", 0, "try one of so many faults of requests; 0: one of 3, in the short form of 17")

func stepOfFaults() int {
	switch {
	case *oneOf > 0:
		return *oneOf
	case testing.Short():
		return 17
	}
	return 3
}

// Whatever request of a shard or of the commit is refused, or done while its answer is lost, the error
// agrees with what a reader sees, and the commit that is then run again completes the release: in each protocol.
func TestShardRequestsFailOneByOne(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		if racetest.Omits(scheme != "s3") {
			continue
		}
		t.Run(scheme, func(t *testing.T) {
			prepare(t, "csv", 100, "")
			single(t, "csv")
			want := records(t, "csv", "whole.csv")
			server := objecttest.Serve(t, scheme, "data")
			toServer(t, server, scheme, "csv")
			p := load(t)
			refused, lost := &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}, &objecttest.Fault{Lose: true}
			seen, step := map[string]int{}, stepOfFaults()
			for _, how := range []string{"refused", "lost", "lost, refused then"} {
				for at := 1; ; at++ {
					if at%step != len(how+scheme)%step && at < 100 {
						at += (len(how+scheme)%step - at%step + step) % step
					}
					for _, key := range below(server, "out/") {
						server.Remove("data", key)
					}
					server.GiveUp()
					os.RemoveAll("states")
					m, err := Plan(t.Context(), p, "pipeline.yaml", nil, 2, options)
					if err != nil {
						t.Fatal(err)
					}
					var asked atomic.Int64
					server.Failing(func(r *http.Request) *objecttest.Fault {
						if strings.HasPrefix(r.URL.Path, "/token") {
							return nil
						}
						n := int(asked.Add(1))
						switch {
						case how == "refused" && n >= at, how == "lost, refused then" && n > at:
							return refused
						case how != "refused" && n == at:
							return lost
						}
						return nil
					})
					run := func() error {
						for i := range m.Shards {
							state := fmt.Sprintf("states/%d.state", i)
							if _, err := os.Stat(state); err == nil {
								continue
							}
							s, err := Run(t.Context(), p, m, i, nil, options)
							if err == nil {
								err = s.Write(state)
							}
							if err != nil {
								return err
							}
						}
						_, err := Commit(t.Context(), p, m, "states", options)
						return err
					}
					err = run()
					all := int(asked.Load())
					server.Failing(nil)
					what := fmt.Sprintf("%s, request %d of %d: error %v", how, at, all, err)
					got, reported := released(t, server, "csv"), server.Get("data", "out/report.json") != nil
					var published *account.PublishedError
					outcome := "nothing"
					switch {
					case err == nil:
						if outcome = "complete"; got != want || !reported {
							t.Errorf("%s: the release is there: %v, the report: %v", what, got == want, reported)
						}
					case !errors.As(err, &published):
						if got != "" || reported {
							t.Errorf("%s: a release is there", what)
						}
					case strings.Contains(err.Error(), "may be published"):
						if outcome = "not sure"; reported {
							t.Errorf("%s: the report is there", what)
						}
					default:
						if outcome = "partly"; got != want || strings.Contains(err.Error(), "\n") {
							t.Errorf("%s: the release is there: %v", what, got == want)
						}
					}
					seen[outcome]++
					if again := run(); again != nil || released(t, server, "csv") != want ||
						server.Get("data", "out/report.json") == nil {
						t.Errorf("%s: run again, the error is %v", what, again)
					}
					if all < at {
						break
					}
				}
			}
			t.Log(seen)
			for _, outcome := range []string{"complete", "nothing", "partly", "not sure"} {
				if seen[outcome] == 0 && step == 1 {
					t.Errorf("no run has the outcome %q", outcome)
				}
			}
		})
	}
}
