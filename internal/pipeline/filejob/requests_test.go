package filejob

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"

	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/gs"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// oneOf is how many faults of requests one is tried of.
var oneOf = flag.Int("every", 0, "try one of so many faults of requests; 0: one of 7, in the short form of 97")

func stepOfFaults() int {
	switch {
	case *oneOf > 0:
		return *oneOf
	case testing.Short():
		return 97
	}
	return 7
}

// faults are what can become of the n-th request of a run where number at fails first. Lost is the answer
// to a request that the server has done: the request is sent again.
var faults = []struct {
	name string
	of   func(n, at int) *objecttest.Fault
}{
	{"refused from there on", func(n, at int) *objecttest.Fault { return chosen(n >= at, refused) }},
	{"refused alone", func(n, at int) *objecttest.Fault { return chosen(n == at, refused) }},
	{"lost", func(n, at int) *objecttest.Fault { return chosen(n == at, lost) }},
	{"lost, refused then", func(n, at int) *objecttest.Fault { return after(n, at, n > at) }},
	{"lost, refused soon", func(n, at int) *objecttest.Fault { return after(n, at, n > at+1) }},
	{"lost, the next refused", func(n, at int) *objecttest.Fault { return after(n, at, n == at+1) }},
}

var refused, lost = objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}, objecttest.Fault{Lose: true}

func chosen(now bool, f objecttest.Fault) *objecttest.Fault {
	if !now {
		return nil
	}
	return &f
}

func after(n, at int, refusing bool) *objecttest.Fault {
	if n == at {
		return &lost
	}
	return chosen(refusing, refused)
}

// stores is a server with a bucket for each of several runs at once, whose requests it counts and has fail.
type stores struct {
	t      *testing.T
	scheme string
	server *objecttest.Server
	mu     sync.Mutex
	asked  map[string]int
	fault  map[string]func(n int) *objecttest.Fault
}

var bucketIn = regexp.MustCompile(`data[0-9]+`)

func newStores(t *testing.T, scheme string, n int) *stores {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("data", i))
	}
	s := &stores{t: t, scheme: scheme, server: objecttest.Serve(t, scheme, names...), asked: map[string]int{},
		fault: map[string]func(int) *objecttest.Fault{}}
	s.server.Failing(func(r *http.Request) *objecttest.Fault {
		s.mu.Lock()
		defer s.mu.Unlock()
		bucket := bucketIn.FindString(r.URL.Path)
		if bucket == "" || s.fault[bucket] == nil { // a token; nothing fails
			s.asked[bucket]++
			return nil
		}
		s.asked[bucket]++
		return s.fault[bucket](s.asked[bucket])
	})
	return s
}

// failing has the requests to a bucket fail, and counts anew.
func (s *stores) failing(bucket string, fault func(n int) *objecttest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[bucket], s.fault[bucket] = 0, fault
}

// place is a bucket, and a configuration that releases into it.
type place struct {
	*stores
	dir, bucket string
	folder      bool
	mark        string // the object that makes a release
	want        []string
}

const earlierRelease = "of an earlier release"

func (s *stores) place(dir, bucket string, folder bool) *place {
	p := &place{stores: s, dir: dir, bucket: bucket, folder: folder, mark: "out.csv"}
	if folder {
		p.mark = "out/_SUCCESS"
	}
	return p
}

// job is the configuration. Three records are released and one is in quarantine.
func (p *place) job() *config.Pipeline {
	in, out := "in.csv", "out.csv"
	if p.folder {
		in, out = "in", "out"
	}
	at := p.scheme + "://" + p.bucket + "/"
	return parse(p.t, p.dir, setup{
		source: "csv: {path: " + filepath.Join(p.dir, in) + ", types: {income: float64, debt: float64}}",
		sink:   "csv: {path: '" + at + out + "'}", masks: noiseMasks,
		extra: "report: {json: '" + at + "r.json', html: '" + at + "r.html'}\nquarantine: {jsonl: '" + at +
			"q.jsonl'}\ngate: {allow_unchanged: 1, max_quarantined: 0.9}\n",
	})
}

// before empties the bucket, or puts an earlier release there. It returns the object that makes it one.
func (p *place) before(earlier bool) []byte {
	for _, key := range p.server.Keys(p.bucket) {
		p.server.Remove(p.bucket, key)
	}
	p.failing(p.bucket, nil)
	if !earlier {
		return nil
	}
	if _, err := Run(p.t.Context(), p.job(), pipeline.Options{}); err != nil {
		p.t.Errorf("an earlier release: %v", err)
		return nil
	}
	for _, key := range []string{"r.json", "r.public.json", "r.html", "r.public.html", "q.jsonl"} {
		p.server.Set(p.bucket, key, []byte(earlierRelease))
	}
	if !p.folder {
		p.server.Set(p.bucket, p.mark, []byte(earlierRelease))
	}
	return p.server.Get(p.bucket, p.mark).Data
}

// kinds are the keys, but for the names that each run gives its parts.
func (p *place) kinds() (kinds []string) {
	for _, key := range p.server.Keys(p.bucket) {
		if publish.IsTemp(key) {
			continue // a receipt that could not be removed any more
		}
		if strings.HasPrefix(key, "out/part-") {
			key = "out/part"
		}
		kinds = append(kinds, key)
	}
	return slices.Compact(kinds)
}

// repaired holds what Repair says and does after a run against what a reader sees: it completes the reports of a
// release that is there if the run has left receipts of them, and touches nothing if not. It reports whether it has
// completed any.
func (p *place) repaired(what string, before []byte) (any bool) {
	p.failing(p.bucket, nil)
	there := p.sees(before)
	for _, name := range []string{"r.json", "r.html"} {
		at, public := p.scheme+"://"+p.bucket+"/"+name, strings.Replace(name, "r.", "r.public.", 1)
		left := map[string]bool{}
		was := map[string]string{}
		for _, key := range []string{name, public} {
			left[key] = p.server.Get(p.bucket, publish.TempName(key)) != nil
			if o := p.server.Get(p.bucket, key); o != nil {
				was[key] = string(o.Data)
			}
		}
		done, err := Repair(p.t.Context(), at)
		any = any || len(done) > 0
		for _, key := range []string{name, public} {
			now := p.server.Get(p.bucket, key)
			completed := slices.Contains(done, strings.TrimSuffix(at, name)+key)
			v, unverified := Verify(p.t.Context(), strings.TrimSuffix(at, name)+key, "")
			agrees := unverified == nil && v.Agree
			switch {
			case completed && (!there || !left[key] || !agrees || p.server.Get(p.bucket, publish.TempName(key)) != nil):
				p.t.Errorf("%s: repair has completed %s; a release is there: %v, a receipt was: %v, they agree: %v, %v", what, key,
					there, left[key], agrees, err)
			case !completed && (now == nil) != (was[key] == "") || !completed && now != nil && string(now.Data) != was[key]:
				p.t.Errorf("%s: repair has changed %s and does not say so: %v", what, key, err)
			case there && left[key] && !agrees:
				p.t.Errorf("%s: the release is there and so was the receipt of %s, and it is not completed: %v", what, key, err)
			case key == name && err == nil && !agrees:
				p.t.Errorf("%s: repair says that %s belongs to the release, and it does not", what, key)
			}
		}
		if err == nil {
			if again, err := Repair(p.t.Context(), at); err != nil || len(again) > 0 {
				p.t.Errorf("%s: repaired twice: %v, %v", what, again, err)
			}
		}
	}
	return any
}

var namesIn = regexp.MustCompile(`"name": "([^"]*)"`)

// sees reports whether a reader sees a release of this run: all of it.
func (p *place) sees(before []byte) bool {
	mark := p.server.Get(p.bucket, p.mark)
	if mark == nil || bytes.Equal(mark.Data, before) {
		return false
	}
	if p.folder {
		for _, part := range namesIn.FindAllSubmatch(mark.Data, -1) {
			if p.server.Get(p.bucket, "out/"+string(part[1])) == nil {
				p.t.Errorf("the release names a part that is not there: %s", part[1])
			}
		}
	}
	return true
}

// Outcomes of a run.
const (
	complete = "complete" // status 0
	nothing  = "nothing"  // status 1
	partly   = "partly"   // status 5
	perhaps  = "not sure" // status 5, in words that leave open whether there is a release
)

// holds holds the error of a run against what a reader sees, and says what it was.
func (p *place) holds(what string, err error, before []byte) (outcome string) {
	there := p.sees(before)
	report := p.server.Get(p.bucket, "r.json")
	reported := report != nil && string(report.Data) != earlierRelease
	var published *PublishedError
	agrees, at := false, "("+p.scheme+"://"+p.bucket+"/out"
	switch {
	case err == nil:
		outcome, agrees = complete, there && reported && slices.Equal(p.kinds(), p.want)
	case !errors.As(err, &published):
		outcome, agrees = nothing, !there && !reported && !strings.Contains(err.Error(), "is published") &&
			!strings.Contains(err.Error(), "has its name")
	case strings.Contains(err.Error(), "the release may be published "+at):
		outcome, agrees = perhaps, !reported
	default:
		outcome, agrees = partly, there && strings.Contains(err.Error(), "the release is published "+at) &&
			!strings.Contains(err.Error(), "\n")
	}
	if !agrees {
		p.t.Errorf("%s: the outcome is %q, a release of this run is there: %v, its report: %v, and all keys are %v\n%v", what,
			outcome, there, reported, p.server.Keys(p.bucket), err)
	}
	return outcome
}

// Whatever request of a run fails, or is done while its answer is lost, what the run says agrees with what
// a reader sees: nothing of it, all of it, or a release without all that belongs to it, or the words leave
// this open. Each request of each protocol, for an object and for a folder, with and without an earlier
// release; the short form takes every nineteenth.
func TestRequestsFailOneByOne(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		for _, folder := range []bool{false, true} {
			if racetest.Omits(scheme != "s3") {
				continue
			}
			t.Run(fmt.Sprintf("%s folder %v", scheme, folder), func(t *testing.T) { requestsFail(t, scheme, folder) })
		}
	}
}

func requestsFail(t *testing.T, scheme string, folder bool) {
	const workers = 16 // most of the time is spent waiting before a request is sent again
	s := newStores(t, scheme, workers)
	dirs := make([]string, workers)
	for i := range dirs {
		dirs[i] = t.TempDir()
		records := []byte(
			"id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\nR3,4.5,9,32,south\nR4,x,9,32,south\n")
		if err := os.Mkdir(filepath.Join(dirs[i], "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"in.csv", "in/a.csv", "in/b.csv"} {
			write(t, filepath.Join(dirs[i], name), records)
		}
	}
	first := s.place(dirs[0], "data0", folder)
	first.before(false)
	if _, err := Run(t.Context(), first.job(), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	all, want := s.asked["data0"], first.kinds()
	for _, key := range s.server.Keys("data0") {
		if publish.IsTemp(key) || s.server.Uploads() > 0 {
			t.Errorf("a run without faults leaves %s and %d uploads", key, s.server.Uploads())
		}
	}
	type trial struct{ fault, at, earlier int }
	trials := make(chan trial)
	seen, runs := map[string]int{}, 0
	var mu sync.Mutex
	var working sync.WaitGroup
	for i := range workers {
		p := s.place(dirs[i], fmt.Sprint("data", i), folder)
		p.want = want
		working.Go(func() {
			for c := range trials {
				before := p.before(c.earlier == 1)
				p.failing(p.bucket, func(n int) *objecttest.Fault { return faults[c.fault].of(n, c.at) })
				_, err := Run(t.Context(), p.job(), pipeline.Options{})
				outcome := p.holds(fmt.Sprintf("request %d of %d, %s, earlier release %d", c.at, all, faults[c.fault].name,
					c.earlier), err, before)
				repaired := p.repaired(fmt.Sprintf("request %d, %s, earlier %d, %s", c.at, faults[c.fault].name, c.earlier,
					outcome), before)
				mu.Lock()
				if seen[outcome]++; repaired {
					seen[outcome+", repaired"]++
				}
				runs++
				mu.Unlock()
			}
		})
	}
	number, step := 0, stepOfFaults()
	for fault := range faults {
		for earlier := range 2 {
			for at := 1; at <= all+2; at++ {
				if number++; number%step == 0 {
					trials <- trial{fault, at, earlier}
				}
			}
		}
	}
	close(trials)
	working.Wait()
	t.Logf("%d runs of %d requests: %v", runs, all, seen)
	for _, outcome := range []string{complete, nothing, partly, perhaps, partly + ", repaired"} {
		if seen[outcome] == 0 && step == 1 {
			t.Errorf("no run has the outcome %q", outcome)
		}
	}
}
