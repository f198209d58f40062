package shard

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// preparation is one command that comes before the shards run, and the key of the object that it writes.
type preparation struct {
	name, key string
	do        func() error
}

// Whatever request of shard plan, survey or pair is refused, or done while its answer is lost: without an error what
// the command writes is there, the same to the bit as without faults; with one either that is there or what was there
// before, never a part of it; nothing is published in either case, no word says so, and the same command again
// completes it.
func TestRequestsOfPlanAndSurveyFailOneByOne(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		t.Run(scheme, func(t *testing.T) { preparationsFail(t, scheme) })
	}
}

func preparationsFail(t *testing.T, scheme string) {
	prepare(t, "csv", 200, "")
	after := "  - truncate: {columns: [wage], lower: 0, upper: 5000}\n"
	swapping(t, after,
		after+"  - swap: {keys: [age], attribute: wage, columns: [region], scope: dataset, rate: 0.3, policy: random}\n")
	server := objecttest.Serve(t, scheme, "data")
	toServer(t, server, scheme, "csv")
	p, at := load(t), scheme+"://data/"
	var m *Manifest
	steps := []preparation{{"plan", "work/plan.json", func() error {
		made, err := Plan(t.Context(), p, "pipeline.yaml", nil, 1, options)
		if err != nil {
			return err
		}
		return made.Write(at + "work/plan.json")
	}}}
	steps = append(steps, preparation{"survey", "work/surveys/0", func() error {
		s, err := Survey(t.Context(), p, m, 0, options)
		if err != nil {
			return err
		}
		return s.Write(at + "work/surveys/0")
	}})
	steps = append(steps, preparation{"pair", "work/pairs/0.pairs", func() error {
		return Pair(t.Context(), p, m, at+"work/surveys", at+"work/pairs", options)
	}})
	total := map[string]int{}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(s.name, err)
		}
		if s.name == "plan" {
			var err error
			if m, err = Read(t.Context(), at+s.key); err != nil {
				t.Fatal(err)
			}
		}
		requestsOfStepFail(t, server, s, total)
	}
	t.Log(total)
}

// requestsOfStepFail has each request of a step fail. What it writes is there when it begins.
func requestsOfStepFail(t *testing.T, server *objecttest.Server, s preparation, total map[string]int) {
	want, all, step := server.Get("data", s.key).Data, 1, max(1, stepOfFaults()/3)
	before := strings.Join(server.Keys("data"), " ")
	refused, lost := &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}, &objecttest.Fault{Lose: true}
	for _, how := range []string{"refused", "lost", "lost, refused then"} {
		for _, earlier := range []string{"", "an earlier one"} {
			for n := 1; n <= all+1; n += step {
				if server.Remove("data", s.key); earlier != "" {
					server.Set("data", s.key, []byte(earlier))
				}
				var asked atomic.Int64
				server.Failing(func(r *http.Request) *objecttest.Fault {
					if strings.HasPrefix(r.URL.Path, "/token") {
						return nil
					}
					k := int(asked.Add(1))
					switch {
					case how == "refused" && k >= n, how == "lost, refused then" && k > n:
						return refused
					case how != "refused" && k == n:
						return lost
					}
					return nil
				})
				err := s.do()
				server.Failing(nil)
				if now := int(asked.Load()); err == nil {
					all = max(all, now)
				}
				got := ""
				if o := server.Get("data", s.key); o != nil {
					got = string(o.Data)
				}
				what := fmt.Sprintf("%s, %s, request %d of %d, %q there before: error %v", s.name, how, n, all, earlier, err)
				var published *account.PublishedError
				var data *pipeline.DataError
				switch {
				case err == nil && got != string(want):
					t.Errorf("%s: it is not there", what)
				case err != nil && got != string(want) && got != earlier:
					t.Errorf("%s: something else is there: %d bytes for %d", what, len(got), len(want))
				case errors.As(err, &published), errors.As(err, &data), err != nil && strings.Contains(err.Error(), "publish"):
					t.Errorf("%s: the words or the status are those of a release, or of a wrong configuration", what)
				}
				total["runs"]++
				switch {
				case err == nil:
					total["complete"]++
				case got == string(want):
					total["an error, and it is there"]++
				default:
					total["nothing"]++
				}
				if n > all {
					break
				}
			}
		}
	}
	server.Failing(nil)
	server.Remove("data", s.key)
	if err := s.do(); err != nil || !bytes.Equal(server.Get("data", s.key).Data, want) {
		t.Errorf("%s: again: %v", s.name, err)
	}
	if now := strings.Join(server.Keys("data"), " "); now != before {
		t.Errorf("%s: there are %s, and there were %s", s.name, now, before)
	}
}
