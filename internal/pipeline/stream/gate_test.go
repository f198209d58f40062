package stream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// The rules limit the distance of the greatest wage from the mean: the first persons satisfy them,
// all persons together do not.
const (
	farOff = "{column: wage, target: max, knowledge: mean, min_rmse: 300}"
	always = "{column: wage, target: max, knowledge: index, record: alone, min_rmse: 1}"
)

// paid adds persons with one wage.
func (s *stand) paid(from, to int, wage float64) {
	s.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records,
			&kgo.Record{Topic: "in", Partition: int32(i % partitions),
				Value: fmt.Appendf(nil, `{"id":%d,"name":"x","wage":%v,"region":"r"}`, i, wage)})
	}
	s.produce(records...)
}

func (s *stand) ids(topic string, n int) (ids []int) {
	s.t.Helper()
	for _, r := range s.values(topic, n) {
		ids = append(ids, *s.person(r).ID)
	}
	slices.Sort(ids)
	return ids
}

func numbers(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// A transaction that the gate refuses is not committed, whichever rule fails: with stop the stream
// ends, with hold the records go to the restricted topic, and only with alert they are released.
func TestStreamGate(t *testing.T) {
	rules := map[string]string{"first": farOff + ", " + always, "last": always + ", " + farOff,
		"middle": always + ", " + farOff + ", " + always}
	for place, list := range rules {
		for _, policy := range []string{"stop", "hold", "alert"} {
			turns := map[string]string{"stop": "first", "hold": "last", "alert": "middle"}
			if testing.Short() && place != turns[policy] {
				continue
			}
			t.Run(policy+"/"+place, func(t *testing.T) {
				t.Parallel()
				s := newStand(t)
				s.paid(0, 50, 2000)
				s.paid(50, 500, 1000)
				folder := t.TempDir()
				word := policy
				if policy == "hold" {
					word = "hold, hold: {topic: held}"
				}
				text := strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), "targets: [max]",
					"targets: [max], intruder: {inversion: false}", 1) +
					fmt.Sprintf("gate: {on_fail: %s, rules: [%s]}\nreport: {json: %s, publish: [sd]}\n", word, list,
						filepath.Join(folder, "report.json"))
				first := s.run(hasty(s.parse(text)))
				if first.Refused() || !slices.Equal(s.ids("out", 500), numbers(0, 500)) {
					t.Fatalf("the first persons are not released: %+v", first.Report.Gate)
				}
				if err := os.Remove(filepath.Join(folder, "report.public.json")); err != nil {
					t.Error(err)
				}
				s.paid(500, 9500, 1990)
				ctx, cancel := context.WithTimeout(t.Context(), 2*eventually.Patience)
				defer cancel()
				result, err := stream.Run(ctx, hasty(s.parse(text)), s.options())
				if err != nil {
					t.Fatal(err)
				}
				wantOut, wantHeld := numbers(0, 500), []int(nil)
				switch policy {
				case "hold":
					wantHeld = numbers(500, 9500)
				case "alert":
					wantOut = numbers(0, 9500)
				}
				out, held := s.ids("out", len(wantOut)), s.ids("held", len(wantHeld))
				if !slices.Equal(out, wantOut) || !slices.Equal(held, wantHeld) {
					t.Errorf("%d persons released and %d held back, want %d and %d", len(out), len(held), len(wantOut), len(wantHeld))
				}
				// Held records are not part of the release in the report.
				if result.Report.Gate.Passed != (policy == "hold") || result.Refused() != (policy != "alert") {
					t.Errorf("refused %v, gate %+v", result.Refused(), result.Report.Gate)
				}
				if policy == "stop" {
					if result.Report.Stopped == nil || result.Report.Stopped.Left != 500 || result.Report.Withheld == "" {
						t.Errorf("stopped %+v, withheld %q", result.Report.Stopped, result.Report.Withheld)
					}
					if _, err := os.Stat(filepath.Join(folder, "report.public.json")); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("a refused run has a public report (os.Stat returns %v)", err)
					}
				}
				same := 0
				for _, r := range append(s.values("out", len(out)), s.values("held", len(held))...) {
					text := string(r.Value)
					if strings.Contains(text, `"name"`) {
						t.Fatalf("the message of person %d contains a name", *s.person(r).ID)
					}
					if strings.Contains(text, `"wage":1990,`) || strings.Contains(text, `"wage":2000,`) ||
						strings.Contains(text, `"wage":1000,`) {
						same++
					}
				}
				// Noise of SD 50 is rounded to 0 with probability 0.01/(50·√2π) = 8e-5: of 9,500
				// values 0.8 are expected, and more than 10 occur once in 10⁹ runs.
				if same > 10 {
					t.Errorf("%d released values are the original, want at most 10", same)
				}
			})
		}
	}
}
